// SPDX-License-Identifier: Apache-2.0
/// How long a thread that has found something looks for more before it sleeps.
#pragma once

#include <algorithm>
#include <chrono>

namespace impishim::wire {

/// Traffic seldom comes alone, and falling asleep and being woken costs each of two relays as much
/// again as all hops of a short message: so a thread looks on for a while, and yields between two
/// looks. But a thread that computes on the same processor keeps it for milliseconds when this one
/// yields, and whatever comes meanwhile waits for that; a sleeping thread is woken at once. Yields
/// that take long, several of them within a short time, tell of such a thread, or of a machine that
/// gives its processors to others: then it sleeps for a while instead, and for longer if that
/// happens again soon. Not thread-safe.
class Attention {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::microseconds kAttention{50};  ///< paid after each find
  static constexpr std::chrono::microseconds kLongYield{
      500};  ///< longer than what threads that yield, too, take
  static constexpr std::chrono::milliseconds kTellingTime{50};
  static constexpr int kTellingYields =
      4;  ///< that many long ones within kTellingTime are not chance
  static constexpr std::chrono::milliseconds kShortestInattention{100};
  static constexpr std::chrono::milliseconds kLongestInattention{10000};
  static constexpr int kLonger = 4;  ///< as long as last time

  /// After a look that ended at `now` and has found something or not. True: yield, then look again.
  /// False: there is no need to look again before something has come.
  [[nodiscard]] bool pays(Clock::time_point now, bool found) {
    if (yielded_ && now - last_look_ > kLongYield) count_long_yield(now);
    last_look_ = now;
    if (found) until_ = now + kAttention;
    yielded_ = now < until_ && now >= inattentive_until_;
    return yielded_;
  }

  /// What passes until the next look is no yield.
  void look_away() { yielded_ = false; }

 private:
  void count_long_yield(Clock::time_point now) {
    if (long_yields_ == 0 || now - first_long_ > kTellingTime) {
      first_long_ = now;
      long_yields_ = 0;
    }
    if (++long_yields_ < kTellingYields) return;
    const bool soon = now - inattentive_until_ < inattention_;
    inattention_ =
        soon ? std::min(kLonger * inattention_, kLongestInattention) : kShortestInattention;
    inattentive_until_ = now + inattention_;
    long_yields_ = 0;
  }

  Clock::time_point until_;
  Clock::time_point inattentive_until_;
  std::chrono::milliseconds inattention_{0};  ///< the latest; 0: there was none
  Clock::time_point last_look_;
  Clock::time_point first_long_;
  int long_yields_ = 0;
  bool yielded_ = false;
};

}  // namespace impishim::wire
