// SPDX-License-Identifier: Apache-2.0
/// Rate-limited reports about strangers (connections that have not authenticated): at most one line
/// per minute.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace impishim::wire {

/// Collects reports about strangers. It reports the first one at once, and counts those of the
/// following minute to report them together. Not thread-safe. The caller passes the time and prints
/// the lines.
class StrangerReport {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kInterval{60};

  /// Records a stranger that `line` describes. Returns the line to print now, if there is one.
  [[nodiscard]] std::optional<std::string> add(std::string line, Clock::time_point now);
  /// Returns the line about the strangers that were only counted, when their minute has passed.
  [[nodiscard]] std::optional<std::string> due(Clock::time_point now);
  /// Returns the time at which due() will have a line, or nothing if there is nothing to report.
  [[nodiscard]] std::optional<Clock::time_point> next() const;

 private:
  std::optional<Clock::time_point> reported_;  ///< when the latest line was printed
  std::size_t unreported_ = 0;
  std::string latest_;
};

}  // namespace impishim::wire
