// SPDX-License-Identifier: Apache-2.0
#include "wire/trace/clock_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

namespace impishim::wire {

std::optional<ClockSample> compare_clocks(std::span<const ClockAnswer> answers) {
  if (answers.empty()) return std::nullopt;
  const ClockAnswer& best = *std::ranges::min_element(
      answers, {}, [](const ClockAnswer& each) { return each.heard_ns - each.asked_ns; });
  const std::int64_t half = (best.heard_ns - best.asked_ns) / 2;
  const std::int64_t middle = best.asked_ns + half;
  return ClockSample{middle, best.answered_ns - middle, half};
}

void ClockLine::add(const ClockSample& sample) {
  constexpr std::size_t kMost = 2;
  if (samples_.size() == kMost) samples_.pop_back();
  samples_.push_back(sample);
}

std::int64_t ClockLine::at(std::int64_t own_ns) const {
  if (samples_.empty()) return own_ns;
  const ClockSample& first = samples_.front();
  const ClockSample& last = samples_.back();
  // What lies within the errors says nothing about the clocks' speeds.
  const std::int64_t change = last.offset_ns - first.offset_ns;
  if (last.own_ns <= first.own_ns || std::abs(change) <= first.error_ns + last.error_ns)
    return own_ns + (last.error_ns < first.error_ns ? last : first).offset_ns;
  const double part = std::clamp(
      static_cast<double>(own_ns - first.own_ns) / static_cast<double>(last.own_ns - first.own_ns),
      0.0, 1.0);
  return own_ns + first.offset_ns + std::llround(part * static_cast<double>(change));
}

std::int64_t ClockLine::error_ns() const {
  std::int64_t largest = 0;
  for (const ClockSample& each : samples_) largest = std::max(largest, each.error_ns);
  return largest;
}

}  // namespace impishim::wire
