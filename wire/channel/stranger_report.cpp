// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/stranger_report.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace impishim::wire {

std::optional<std::string> StrangerReport::add(std::string line, Clock::time_point now) {
  if (reported_ && now < *reported_ + kInterval) {
    ++unreported_;
    latest_ = std::move(line);
    return std::nullopt;
  }
  if (unreported_ != 0) {
    line = fmt::format("{} (and {} more before it)", line, unreported_);
    unreported_ = 0;
  }
  reported_ = now;
  return line;
}

std::optional<std::string> StrangerReport::due(Clock::time_point now) {
  const auto when = next();
  if (!when || now < *when) return std::nullopt;
  reported_ = now;
  const std::size_t count = std::exchange(unreported_, 0);
  if (count == 1) return std::move(latest_);
  return fmt::format("{} (the latest of {} within {} s)", latest_, count, kInterval.count());
}

std::optional<StrangerReport::Clock::time_point> StrangerReport::next() const {
  if (unreported_ == 0) return std::nullopt;
  return *reported_ + kInterval;
}

}  // namespace impishim::wire
