// SPDX-License-Identifier: Apache-2.0
/// Collectives for which no thread is inside an MPI call. Every wait in an MPI call progresses
/// them.
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
  /// add() is called once for each collective that starts, remove() once when it is complete.
  void add(CollectiveQueue& queue);
  void remove(CollectiveQueue& queue);
  [[nodiscard]] bool none() const { return count_.load(std::memory_order_relaxed) == 0; }
  /// Returns the function of a collective that the process's own thread must progress, as far as
  /// any other thread can tell. Null if there is none.
  [[nodiscard]] const char* held_up();
  /// Progresses all of them.
  void step(Job& job) {
    if (count_.load(std::memory_order_relaxed) != 0) step_all(job);
  }

 private:
  void step_all(Job& job);

  std::atomic<std::size_t> count_{0};
  Mutex mutex_;
  /// One entry for each collective.
  std::vector<CollectiveQueue*> queues_ IMPISHIM_GUARDED_BY(mutex_);
};

}  // namespace impishim::shim
