// SPDX-License-Identifier: Apache-2.0
/// The server of a whole job, which impirun opens and then runs in a process of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/launch/jobfile/job_file.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/plan/key_file.hpp"
#include "wire/launch/supervisor.hpp"
#include "wire/port/open_port.hpp"
#include "wire/server/rendezvous.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/watch/metrics_service.hpp"

namespace impishim::launch {

/// The rendezvous, the job's metrics, and the names that its systems publish; and what impirun and
/// the server's process tell each other.
class JobServer {
 public:
  /// Opens the metrics that IMPISHIM_METRICS asks for, if it is set.
  [[nodiscard]] Result<void> open_metrics();
  /// Opens the rendezvous, and the names if all systems stay on this machine. Puts the job's key
  /// into the environment. A job that leaves this machine gets a secret, which only it knows.
  [[nodiscard]] Result<void> open(const CommandLine& line, const JobFile& job);
  /// Starts the server's process. From then on only that process listens, so late clients are
  /// refused when it has ended.
  [[nodiscard]] Result<void> start(Supervisor& supervisor);

  /// Returns the address and port of the rendezvous, once it is open.
  [[nodiscard]] const std::string& address() const { return address_; }
  /// Returns the files for key and secret, once the rendezvous is open.
  [[nodiscard]] KeyFiles& key_files() { return *key_files_; }
  /// Tells the server's process that a system has ended.
  void tell_ended(std::uint8_t system) const;
  /// Returns the socket from which the lost systems can be read that the others go on without, one
  /// byte for each.
  [[nodiscard]] int losses() const { return ended_.here.get(); }
  /// Returns the socket from which the mask of the joined systems can be read after each change; -1
  /// if the job is not from a file.
  [[nodiscard]] int joined() const { return joined_.here.get(); }

 private:
  /// Two connected sockets that keep messages apart and do not block.
  struct Pair {
    Descriptor here;
    Descriptor server;
  };

  [[nodiscard]] static Result<Pair> make_pair();
  [[nodiscard]] int serve();

  Pair ended_;
  Pair joined_;
  std::unique_ptr<wire::MetricsService> metrics_;
  wire::AuthenticationMethods methods_;
  std::optional<wire::Rendezvous> rendezvous_;
  std::string address_;
  std::shared_ptr<wire::OpenPort> names_;
  std::optional<KeyFiles> key_files_;
};

}  // namespace impishim::launch
