// SPDX-License-Identifier: Apache-2.0
/// Clocks of different nodes, brought to one time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace impishim::wire {

/// One comparison of two clocks.
struct ClockSample {
  std::int64_t own_ns = 0;     ///< when, by this process's clock
  std::int64_t offset_ns = 0;  ///< what the other clock shows more than this one
  std::int64_t error_ns = 0;   ///< the offset is right to so much
};

/// A question that was answered: the other clock showed `answered_ns` at some time between
/// `asked_ns` and `heard_ns` of this clock.
struct ClockAnswer {
  std::int64_t asked_ns = 0;
  std::int64_t answered_ns = 0;
  std::int64_t heard_ns = 0;
};

/// Compares clocks by the answer with the shortest round trip (Cristian, "Probabilistic clock
/// synchronization", 1989). Returns nothing if there is no answer.
[[nodiscard]] std::optional<ClockSample> compare_clocks(std::span<const ClockAnswer> answers);

/// The other clock over this one: a line between the first sample and the latest one, so that
/// clocks of different speeds agree. Where the samples differ by no more than their errors, the
/// better one counts alone.
class ClockLine {
 public:
  void add(const ClockSample& sample);
  /// Returns true if the clocks have been compared.
  [[nodiscard]] bool is_known() const { return !samples_.empty(); }
  /// Returns what the other clock shows when this one shows `own_ns`. Without a sample: the same.
  [[nodiscard]] std::int64_t at(std::int64_t own_ns) const;
  /// Returns the larger error of the samples; 0 if there is none.
  [[nodiscard]] std::int64_t error_ns() const;

 private:
  std::vector<ClockSample> samples_;  ///< at most two
};

}  // namespace impishim::wire
