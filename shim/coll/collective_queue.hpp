// SPDX-License-Identifier: Apache-2.0
/// The collectives of one communicator, one after the other, and how they are started, waited for
/// and started again.
///
/// All members call a communicator's collectives in the same order (MPI-3.1 5.12), and each runs
/// when those before it are over, so that their local phases and messages match without being told
/// apart. Waiting for one brings the earlier ones to their end; and every wait in an MPI call moves
/// all of them on.
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

/// What waits in a communicator's queue. Owned by the call (blocking) or by its request.
struct QueuedCollective {
  QueuedCollective(Job& job, Communicator& communicator, const char* function, bool keeps_handles)
      : call(job, communicator, function, keeps_handles) {}
  Collective call;
  bool outstanding =
      false;  ///< nobody stands in an MPI call for it: whoever waits for anything moves it on
  std::atomic<bool> over{false};
};

class CollectiveQueue {
 public:
  void enter(Job& job, const std::shared_ptr<QueuedCollective>& queued);
  /// Moves the first ones on, unless another thread does. True: `queued` is over.
  bool step(Job& job, const QueuedCollective& queued);
  void step(Job& job);
  /// What is under way waits in the vendor's MPI.
  [[nodiscard]] bool waits_in_vendor();
  /// The function of what is under way, if it can go on or waits for the vendor, which only the
  /// program's thread may ask; else null. Any thread.
  [[nodiscard]] const char* held_up();

 private:
  Mutex mutex_;
  std::deque<std::shared_ptr<QueuedCollective>> waiting_ IMPISHIM_GUARDED_BY(mutex_);
};

/// The three ways to call a collective; `prepare` describes the arguments. Return the call's
/// result.
[[nodiscard]] int run_collective(Job& job, Communicator& communicator, const char* function,
                                 const Prepare& prepare);
[[nodiscard]] int start_collective(Job& job, Communicator& communicator, const char* function,
                                   MPI_Request* handle, const Prepare& prepare);
[[nodiscard]] int init_collective(Job& job, Communicator& communicator, const char* function,
                                  MPI_Request* handle, Prepare prepare);

}  // namespace impishim::shim
