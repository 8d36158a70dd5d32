// SPDX-License-Identifier: Apache-2.0
/// A histogram whose classes double in width: for sizes and durations of any magnitude.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace impishim {

/// Counts values by their powers of two. Class 0 has the zeros; class i has the values from
/// 2^(i-1) to 2^i - 1.
struct LogHistogram {
  static constexpr std::size_t kClasses = 65;
  std::array<std::uint64_t, kClasses> counts{};

  void add(std::uint64_t value, std::uint64_t times = 1) {
    counts[static_cast<std::size_t>(std::bit_width(value))] += times;
  }
  void add(const LogHistogram& other) {
    for (std::size_t i = 0; i < kClasses; ++i) counts[i] += other.counts[i];
  }
  /// Returns the smallest value of a class; 0 if there is no such class.
  [[nodiscard]] static constexpr std::uint64_t lowest(std::size_t index) {
    return index == 0 || index >= kClasses ? 0 : std::uint64_t{1} << (index - 1);
  }
  /// Returns the number of classes up to the last one that has values.
  [[nodiscard]] std::size_t used() const {
    const auto last =
        std::find_if(counts.rbegin(), counts.rend(), [](std::uint64_t count) { return count > 0; });
    return static_cast<std::size_t>(counts.rend() - last);
  }
};

}  // namespace impishim
