// SPDX-License-Identifier: Apache-2.0
/// Decides how long a thread that has found something keeps polling before it sleeps.
#pragma once

#include <algorithm>
#include <chrono>

namespace impishim::wire {

/// Policy that tells a polling thread whether to yield and poll again, or to sleep.
///
/// Traffic seldom comes alone. Falling asleep and being woken costs each of two relays as much
/// again as all hops of a short message. A thread therefore keeps polling for a while, and yields
/// between two polls. But a thread that computes on the same processor keeps the processor for
/// milliseconds when this thread yields, and messages that arrive meanwhile wait. A sleeping thread
/// is woken at once. Several long yields within a short time indicate such a computing thread, or a
/// machine that gives its processors to others. This thread then sleeps for a while instead of
/// yielding, and for longer if that happens again soon. Not thread-safe.
class SpinPolicy {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::microseconds kSpinTime{50};  ///< polling time after each find
  /// Longer than the yields of threads that yield, too.
  static constexpr std::chrono::microseconds kLongYield{500};
  static constexpr std::chrono::milliseconds kLongYieldWindow{50};
  /// This many long yields within kLongYieldWindow are not chance.
  static constexpr int kLongYieldsThatTell = 4;
  static constexpr std::chrono::milliseconds kShortestRest{100};
  static constexpr std::chrono::milliseconds kLongestRest{10000};
  static constexpr int kBackoffFactor = 4;  ///< factor to the previous rest

  /// Returns true if the thread shall yield and poll again, and false if it need not poll before
  /// something has arrived. To be called after a poll that ended at `now`; `found` tells whether
  /// that poll found something.
  [[nodiscard]] bool should_spin(Clock::time_point now, bool found) {
    if (yielded_ && now - last_poll_ > kLongYield) count_long_yield(now);
    last_poll_ = now;
    if (found) until_ = now + kSpinTime;
    yielded_ = now < until_ && now >= resting_until_;
    return yielded_;
  }

  /// Tells that the time until the next poll is not a yield.
  void reset() { yielded_ = false; }

 private:
  void count_long_yield(Clock::time_point now) {
    if (long_yields_ == 0 || now - first_long_ > kLongYieldWindow) {
      first_long_ = now;
      long_yields_ = 0;
    }
    if (++long_yields_ < kLongYieldsThatTell) return;
    const bool soon = now - resting_until_ < rest_;
    rest_ = soon ? std::min(kBackoffFactor * rest_, kLongestRest) : kShortestRest;
    resting_until_ = now + rest_;
    long_yields_ = 0;
  }

  Clock::time_point until_;
  Clock::time_point resting_until_;
  std::chrono::milliseconds rest_{0};  ///< length of the latest one; 0: there was none
  Clock::time_point last_poll_;
  Clock::time_point first_long_;
  int long_yields_ = 0;
  bool yielded_ = false;
};

}  // namespace impishim::wire
