// SPDX-License-Identifier: Apache-2.0
/// Measurements over a line: one end leads, the other one answers. Both must call the function of
/// their part in the same order.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/check/line.hpp"

namespace impishim::check {

struct RoundTrips {
  double median_us = 0;
  double most_us = 0;         ///< 99 of 100 are not longer
  double clock_ahead_us = 0;  ///< how far the other end's clock is ahead
  double clock_error_us = 0;  ///< the largest error of clock_ahead_us
};

/// One question and its answer, in nanoseconds of this end's clock and of the other one's.
struct Exchange {
  std::int64_t asked = 0;
  std::int64_t there = 0;
  std::int64_t answered = 0;
};

/// Evaluates exchanges. The clocks are compared by the one that took the shortest time: the other
/// end answered within it, and its middle is the best guess.
[[nodiscard]] RoundTrips evaluate(std::vector<Exchange> exchanges);

/// Asks until enough questions have been answered, for about one second at most.
[[nodiscard]] Result<RoundTrips> lead_round_trips(Line& line);
[[nodiscard]] Result<void> answer_round_trips(Line& line);

/// Sends for `time`, and returns bytes/s from the first byte until the other end has confirmed the
/// last one.
[[nodiscard]] Result<double> lead_rate(Line& line, std::chrono::milliseconds time);
[[nodiscard]] Result<void> answer_rate(Line& line);

/// Waits until both ends are here.
[[nodiscard]] Result<void> meet(Line& line);

}  // namespace impishim::check
