// SPDX-License-Identifier: Apache-2.0
/// The queue of the collectives of one communicator, and the functions that start, await and
/// restart them.
///
/// All members call a communicator's collectives in the same order (MPI-3.1 5.12). Each collective
/// runs when the earlier ones are complete, so local phases and messages match without further
/// identification. Waiting for one collective completes the earlier ones. Every wait in an MPI call
/// progresses all of them.
#pragma once

#include <mpi.h>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "shim/coll/collective.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// An entry in a communicator's queue. Owned by the call (blocking) or by its request.
struct QueuedCollective {
  QueuedCollective(Job& job, Communicator& communicator, const char* function, bool keeps_handles)
      : call(job, communicator, function, keeps_handles) {}
  Collective call;
  /// True if no thread is inside an MPI call for it, so that every wait progresses it.
  bool outstanding = false;
  std::atomic<bool> over{false};
};

class CollectiveQueue {
 public:
  void enter(Job& job, const std::shared_ptr<QueuedCollective>& queued);
  /// Progresses the collectives at the front, unless another thread does. Returns true if `queued`
  /// is complete.
  bool step(Job& job, const QueuedCollective& queued);
  void step(Job& job);
  /// Returns true if the collective in progress waits in the vendor's MPI.
  [[nodiscard]] bool waits_in_vendor();
  /// Returns the function of the collective in progress if it can proceed, or if it waits for the
  /// vendor, which only an application thread may poll. Returns null otherwise. Any thread.
  [[nodiscard]] const char* held_up();

 private:
  Mutex mutex_;
  std::deque<std::shared_ptr<QueuedCollective>> waiting_ IMPISHIM_GUARDED_BY(mutex_);
};

/// The three ways to call a collective: blocking, nonblocking and persistent. `prepare` describes
/// the arguments. Each function returns the result of the call.
[[nodiscard]] int run_collective(Job& job, Communicator& communicator, const char* function,
                                 const Prepare& prepare);
[[nodiscard]] int start_collective(Job& job, Communicator& communicator, const char* function,
                                   MPI_Request* handle, const Prepare& prepare);
[[nodiscard]] int init_collective(Job& job, Communicator& communicator, const char* function,
                                  MPI_Request* handle, Prepare prepare);

}  // namespace impishim::shim
