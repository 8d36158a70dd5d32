// SPDX-License-Identifier: Apache-2.0
/// When a process was in MPI: intervals of equal width, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/statistics/call_scope.hpp"

namespace impishim::wire {

/// An interval of the time line. With several threads, the times can exceed its width.
struct TimeBin {
  ByScope<std::uint64_t> ns{};     ///< spent in MPI
  ByScope<std::uint64_t> bytes{};  ///< of messages that the program sent
};

/// Time since a start, in bins. When the bins are full, each two become one of double width.
class TimeLine {
 public:
  static constexpr std::size_t kMostBins = 256;
  static constexpr std::uint64_t kFirstWidth = 1000000;  ///< a millisecond

  /// Adds a call that lasted from `begin_ns` to `end_ns`.
  void add_call(CallScope scope, std::uint64_t begin_ns, std::uint64_t end_ns);
  /// Adds a message that was sent at `at_ns`.
  void add_message(CallScope scope, std::uint64_t at_ns, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t width_ns() const { return width_; }
  [[nodiscard]] const std::vector<TimeBin>& bins() const { return bins_; }

 private:
  TimeBin& bin_at(std::uint64_t at_ns);
  void halve();

  std::uint64_t width_ = kFirstWidth;
  std::vector<TimeBin> bins_;
};

}  // namespace impishim::wire
