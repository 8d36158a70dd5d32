// SPDX-License-Identifier: Apache-2.0
/// Time that passes only from one event to the next.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace impishim::wire::test {

/// Microseconds since the simulation began.
using VirtualTime = std::uint64_t;
inline constexpr VirtualTime kMillisecond = 1000;
inline constexpr VirtualTime kSecond = 1'000'000;

/// Runs events in the order of their times. Events of the same time run in the order in which they
/// were made.
class VirtualClock {
 public:
  using Action = std::function<void()>;

  [[nodiscard]] VirtualTime now() const { return now_; }
  /// Runs `action` at `time`, which must not have passed.
  void at(VirtualTime time, Action action);
  void after(VirtualTime delay, Action action) { at(now_ + delay, std::move(action)); }
  /// Runs the next event. Returns false if there is none.
  bool run_next();
  /// Forgets all events, and closes the channels that they hold.
  void clear();

 private:
  struct Event {
    VirtualTime time;
    std::uint64_t number;
    Action action;
  };
  static bool later(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }

  VirtualTime now_ = 0;
  std::uint64_t made_ = 0;
  std::vector<Event> heap_;
};

}  // namespace impishim::wire::test
