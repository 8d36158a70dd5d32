// SPDX-License-Identifier: Apache-2.0
/// What a simulation reports: a broken promise, and sums over all seeds.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <utility>

namespace impishim::wire::test {

/// A promise that the code under test has broken.
class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
void require(bool kept, fmt::format_string<Args...> format, Args&&... args) {
  if (!kept) throw Violation(fmt::format(format, std::forward<Args>(args)...));
}

struct SimulationTotals {
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
  std::uint64_t cuts = 0;
  std::uint64_t connections = 0;  ///< beyond the first ones
  std::uint64_t repeated = 0;     ///< bytes that were sent more than once
};

}  // namespace impishim::wire::test
