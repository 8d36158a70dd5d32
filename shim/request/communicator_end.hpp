// SPDX-License-Identifier: Apache-2.0
/// The end of spanning communicators (MPI-3.1 6.4.3).
///
/// MPI_Comm_free waits for no other process, as in the vendors' MPI. The user's handle ends at the
/// call, with its delete callbacks. The parts that collectives and receives still need live until
/// the last request that refers to the communicator is complete. Context ids are never reused: 64
/// bits last for ever, so a late message cannot reach another communicator.
#pragma once

#include <mpi.h>

#include "shim/job/job.hpp"

namespace impishim::shim {

/// Ends `communicator`, and frees the user's handle by `vendor_free`. Delete callbacks run while
/// the handle still is the spanning one; if one fails, the communicator stays. Local. Returns the
/// vendor's code.
[[nodiscard]] int end_communicator(Job& job, Communicator& communicator, MPI_Comm* handle,
                                   int (*vendor_free)(MPI_Comm*));

/// Releases the communicators that the user has freed and that no request refers to any more. To be
/// called if has_retired().
void release_ended(Job& job);

/// Frees a vendor communicator unless `*comm` is MPI_COMM_NULL.
void free_if_any(MPI_Comm* comm);

/// Frees the vendor communicators that belong to `communicator`, except the user's handle.
void free_hidden_handles(Communicator& communicator);

/// Makes a spanning communicator's handle name it again while the vendor, which frees it, calls one
/// of the user's delete callbacks. If the callback frees another communicator, the delete callbacks
/// of that one do not change this state.
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
