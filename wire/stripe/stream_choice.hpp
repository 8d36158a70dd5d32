// SPDX-License-Identifier: Apache-2.0
/// Decides how many connections a channel has, from what the kernel measures on them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "wire/channel/channel.hpp"

namespace impishim::wire {

/// Doubles the number of connections as long as segments are lost on a long road: there, TCP's
/// congestion control takes seconds to recover from each loss, on one connection at a time. A pure
/// state machine.
class StreamChoice {
 public:
  /// Shorter roads recover by themselves.
  static constexpr std::chrono::microseconds kLongRoad{2000};

  /// Takes the longest round trip of all connections, and the segments that they have sent again.
  /// Returns how many connections there should be, where there are `count`, of at most `most`.
  [[nodiscard]] std::size_t observe(const RoadState& road, std::size_t count, std::size_t most) {
    const bool lost = road.repeated > repeated_;
    repeated_ = road.repeated;
    if (!lost || road.round_trip < kLongRoad) return count;
    return std::min(2 * count, std::max(count, most));
  }

 private:
  std::uint64_t repeated_ = 0;
};

}  // namespace impishim::wire
