// SPDX-License-Identifier: Apache-2.0
/// The end of spanning communicators (MPI-3.1 6.4.3).
///
/// MPI_Comm_free waits for no other process, as in the vendors' MPI. The user's handle ends at the
/// call, with its delete callbacks; what collectives and receives still need lives until the last
/// request that refers to the communicator is over. Context ids are never given out again: 64 bits
/// last for ever, and a late message can meet no other communicator.
#pragma once

#include <mpi.h>

#include "shim/job/job.hpp"

namespace impishim::shim {

/// Ends `communicator`: the user's handle by `vendor_free`. Delete callbacks run while the handle
/// still is the spanning one; if one fails the communicator stays. Local. Returns the vendor's
/// code.
[[nodiscard]] int end_communicator(Job& job, Communicator& communicator, MPI_Comm* handle,
                                   int (*vendor_free)(MPI_Comm*));

/// Releases the communicators that the user has freed and no request refers to any more. For
/// has_retired().
void release_ended(Job& job);

/// Frees a communicator of the vendor's unless `*comm` is MPI_COMM_NULL.
void free_if_any(MPI_Comm* comm);

/// Frees the vendor's communicators that belong to `communicator` beside the user's handle.
void free_hidden_handles(Communicator& communicator);

/// Makes a spanning communicator's handle name it again while the vendor, which frees it, calls one
/// of the user's delete callbacks. What the callback frees in turn has callbacks of its own, to
/// which it is no news.
class InsideDeleteCallback {
 public:
  InsideDeleteCallback();
  ~InsideDeleteCallback();
  InsideDeleteCallback(const InsideDeleteCallback&) = delete;
  InsideDeleteCallback& operator=(const InsideDeleteCallback&) = delete;

 private:
  Communicator* shown_;
};

}  // namespace impishim::shim
