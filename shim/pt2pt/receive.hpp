// SPDX-License-Identifier: Apache-2.0
/// Receiving on spanning communicators, for the calls that are built on it.
#pragma once

#include <mpi.h>

#include <atomic>

#include "shim/request/request.hpp"
#include "shim/values/receive_sources.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {

/// Returns the kind of a receive from this spanning rank, MPI_ANY_SOURCE or MPI_PROC_NULL.
[[nodiscard]] const RequestKind& receive_kind(const Communicator& communicator, int source);

/// Returns true if a receive from a process of this system can be a vendor request. Its status then
/// names the source as the user does, or the source can be kept in Job::receive_sources. Where the
/// program may revoke communicators, none is: a revocation ends requests of ours only.
[[nodiscard]] inline bool vendor_request_serves(const Job& job, const Communicator& communicator) {
  if (job.hears_revocations.load(std::memory_order_relaxed)) return false;
  return communicator.local_ranks_are_spanning || job.thread_level != MPI_THREAD_MULTIPLE;
}

/// Does what MPI_Recv does on a spanning communicator; errors have been raised.
int receive(Job& job, Communicator& communicator, void* buf, int count, MPI_Datatype datatype,
            int source, int tag, MPI_Status* status);

}  // namespace impishim::shim
