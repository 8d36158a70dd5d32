// SPDX-License-Identifier: Apache-2.0
/// The library's collectives beside flat algorithms, on a simulated network of systems.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/scale/collectives/timed_job.hpp"

namespace impishim::scale {

struct Shape {
  std::int32_t systems = 2;
  std::int32_t procs_of_a_system = 32;  ///< a power of two, as `systems`
};

struct Comparison {
  Timing ours;
  Timing flat;
};

/// The names that compare() knows.
[[nodiscard]] const std::vector<std::string_view>& compared_collectives();

/// Runs the collective `name` with `bytes` bytes of each rank. Throws std::logic_error for another
/// name, or if a run fails.
[[nodiscard]] Comparison compare(std::string_view name, std::uint64_t bytes, const Shape& shape,
                                 const NetworkTimes& times);

}  // namespace impishim::scale
