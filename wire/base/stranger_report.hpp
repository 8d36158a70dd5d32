/// What is said about strangers at a port: at most a line a minute, however many come.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace impishim {

/// Collects what is to be said about strangers. The first one is reported at once; those of the
/// following minute are counted and reported together. Not thread-safe; the caller passes the time
/// and prints.
class StrangerReport {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kInterval{60};

  /// Notes a stranger, described by `line`. Returns the line to print now, if there is one.
  [[nodiscard]] std::optional<std::string> add(std::string line, Clock::time_point now);
  /// Returns the line about the strangers that were only counted, once their minute is over.
  [[nodiscard]] std::optional<std::string> due(Clock::time_point now);
  /// Returns when due() will have a line; nothing if there are no strangers to report.
  [[nodiscard]] std::optional<Clock::time_point> next() const;

 private:
  std::optional<Clock::time_point> reported_;  ///< when the latest line was printed
  std::size_t unreported_ = 0;
  std::string latest_;
};

}  // namespace impishim
