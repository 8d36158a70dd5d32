// SPDX-License-Identifier: Apache-2.0
/// Connects two groups of processes: the common part of MPI_Comm_accept, MPI_Comm_connect,
/// MPI_Comm_spawn and MPI_Comm_join.
#pragma once

#include <mpi.h>

#include <functional>

#include "shim/job/job.hpp"
#include "wire/base/result.hpp"
#include "wire/port/open_port.hpp"

namespace impishim::shim {

/// One side of the connection of two groups.
struct GroupConnectionCall {
  const char* function;  ///< name of the MPI function, for errors
  MPI_Comm comm;         ///< the group of this side: an intracommunicator, spanning or not
  int root;
  int error_class;  ///< if the roots do not meet, e.g. MPI_ERR_PORT
  /// Makes the connection between the roots. Called on the root alone, in a thread of its own: it
  /// may block, and must not call MPI.
  std::function<Result<wire::PortConnection>()> meet;
};

/// Connects the group with the other one. Collective over `call.comm`. All members get the
/// intercommunicator in `*newcomm`, or the same error, which is raised through the error handler of
/// `call.comm`.
[[nodiscard]] int connect_groups(Job& job, const GroupConnectionCall& call, MPI_Comm* newcomm);

}  // namespace impishim::shim
