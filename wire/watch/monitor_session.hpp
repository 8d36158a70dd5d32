// SPDX-License-Identifier: Apache-2.0
/// The side of monitoring that asks: a connection to the rendezvous server of a running job.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/monitor/monitor_message.hpp"
#include "wire/monitor/process_state.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/server_stream.hpp"

namespace impishim::wire {

/// What a job tells at one time.
struct JobState {
  std::int32_t size = 0;                ///< processes of the job; 0: not known
  std::vector<ProcessState> processes;  ///< those that have answered, in the order of ranks
  std::vector<std::int32_t> silent;     ///< those that have not, although they are connected
  std::vector<std::int32_t> unwatched;  ///< those that have no connection to the server
};

class MonitorSession {
 public:
  /// Only notes where to ask; ask() connects.
  MonitorSession(std::string server, AuthenticationMethods methods)
      : server_(std::move(server)), methods_(std::move(methods)) {}

  /// Asks all processes. Blocks for a few seconds at most if the server answers. Fails with
  /// kConnection or kTimeout if the server cannot be reached, has ended, or does not know such
  /// questions, and with kProtocol if an answer cannot be read. The next call connects again then.
  [[nodiscard]] Result<JobState> ask(std::uint32_t wants);

 private:
  [[nodiscard]] Result<void> send(std::uint32_t wants);
  [[nodiscard]] Result<JobState> receive();

  std::string server_;
  AuthenticationMethods methods_;
  std::unique_ptr<ServerStream> stream_;
};

}  // namespace impishim::wire
