// SPDX-License-Identifier: Apache-2.0
/// Collectives that nobody stands in an MPI call for: every wait in an MPI call moves them on.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "wire/base/mutex.hpp"

namespace impishim::shim {

class CollectiveQueue;
struct Job;

class OutstandingCollectives {
 public:
  /// One call for each collective that is started, and one when it is over.
  void add(CollectiveQueue& queue);
  void remove(CollectiveQueue& queue);
  [[nodiscard]] bool none() const { return count_.load(std::memory_order_relaxed) == 0; }
  /// The function of one that its process's thread has to move on, as far as any other thread can
  /// tell; null: there is none.
  [[nodiscard]] const char* held_up();
  /// Moves all of them on.
  void step(Job& job) {
    if (count_.load(std::memory_order_relaxed) != 0) step_all(job);
  }

 private:
  void step_all(Job& job);

  std::atomic<std::size_t> count_{0};
  Mutex mutex_;
  std::vector<CollectiveQueue*> queues_
      IMPISHIM_GUARDED_BY(mutex_);  ///< one entry for each collective
};

}  // namespace impishim::shim
