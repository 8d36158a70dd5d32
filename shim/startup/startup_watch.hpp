// SPDX-License-Identifier: Apache-2.0
/// While the hosts of a system are being connected, one of its processes speaks with the rendezvous
/// server: what that one hears, all processes must hear.
#pragma once

#include <mpi.h>

#include <optional>

#include "wire/base/result.hpp"
#include "wire/startup/startup_client.hpp"

namespace impishim::shim {

/// Carries the news that the server has given the job up (it has lost a client) from the speaker to
/// the other processes of the system, none of which blocks for it. Made and concluded by all
/// processes of `comm`; in between each polls given_up().
class StartupWatch {
 public:
  /// `server`: the connection, on the speaker; null elsewhere.
  StartupWatch(MPI_Comm comm, int speaker, wire::ServerConnection* server);
  StartupWatch(const StartupWatch&) = delete;
  StartupWatch& operator=(const StartupWatch&) = delete;
  ~StartupWatch();

  /// Becomes readable when the speaker may hear something; -1 on other processes, which poll.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Returns why the job is given up, if it is. kAborted on processes that only follow the speaker.
  [[nodiscard]] std::optional<Error> given_up();
  /// Blocks until all processes have called it; the speaker listens to the server meanwhile. The
  /// error of given_up(), if the job is given up by then.
  [[nodiscard]] Result<void> conclude();

 private:
  void tell();

  MPI_Comm all_;
  MPI_Comm verdicts_ = MPI_COMM_NULL;  ///< collective calls on `all_` must not wait for the verdict
  int speaker_;
  wire::ServerConnection* server_;
  int descriptor_ = -1;
  int verdict_ = 0;  ///< 1: the job is given up
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::optional<Error> error_;
};

}  // namespace impishim::shim
