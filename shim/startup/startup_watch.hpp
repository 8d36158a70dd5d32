// SPDX-License-Identifier: Apache-2.0
/// A watch for the time when the hosts of a system connect. One of its processes communicates with
/// the rendezvous server; all processes must learn the news that it receives.
#pragma once

#include <mpi.h>

#include <optional>

#include "wire/base/result.hpp"
#include "wire/startup/startup_client.hpp"

namespace impishim::shim {

/// Forwards the news that the server has ended the job, since it lost a client. The speaker sends
/// it to the other processes of the system, and none of them blocks for it. All processes of `comm`
/// construct and conclude the object. In between each of them polls given_up().
class StartupWatch {
 public:
  /// Constructs a watch. `server` is the connection on the speaker and null elsewhere.
  StartupWatch(MPI_Comm comm, int speaker, wire::ServerConnection* server);
  StartupWatch(const StartupWatch&) = delete;
  StartupWatch& operator=(const StartupWatch&) = delete;
  ~StartupWatch();

  /// Returns a descriptor that becomes readable when the speaker may have news. Returns -1 on other
  /// processes, which poll.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Returns the reason if the server has ended the job. The error is kAborted on processes that
  /// only follow the speaker.
  [[nodiscard]] std::optional<Error> given_up();
  /// Blocks until all processes have called it. The speaker polls the server meanwhile. Returns the
  /// error of given_up() if the server has ended the job by then.
  [[nodiscard]] Result<void> conclude();

 private:
  void tell();

  MPI_Comm all_;
  /// Separate, so that collective calls on `all_` do not wait for the verdict.
  MPI_Comm verdicts_ = MPI_COMM_NULL;
  int speaker_;
  wire::ServerConnection* server_;
  int descriptor_ = -1;
  int verdict_ = 0;  ///< 1 if the server has ended the job
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::optional<Error> error_;
};

}  // namespace impishim::shim
