// SPDX-License-Identifier: Apache-2.0
/// Counts unmatched messages that arrive in some contexts, for a thread that sleeps until one does.
#pragma once

#include <cstdint>
#include <set>

#include "wire/base/mutex.hpp"
#include "wire/message/operation.hpp"

namespace impishim::wire {

/// The engine's lock protects it.
class ArrivalCount {
 public:
  void watch(ContextId context) { watched_.insert(context); }
  /// Counts an unmatched message, if its context is watched.
  void arrived(ContextId context) {
    if (!watched_.empty() && watched_.count(context) != 0) change();
  }
  /// Wakes the threads that wait for a change.
  void wake() { changed_.notify_all(); }
  /// Changes the count though no message has arrived.
  void change() {
    ++count_;
    wake();
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Blocks until wake() or change(), or spuriously. The caller holds `mutex`.
  void wait(Mutex& mutex) IMPISHIM_REQUIRES(mutex) { changed_.wait(mutex); }

 private:
  std::set<ContextId> watched_;
  std::uint64_t count_ = 0;
  Condition changed_;
};

}  // namespace impishim::wire
