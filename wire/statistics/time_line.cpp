// SPDX-License-Identifier: Apache-2.0
#include "wire/statistics/time_line.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "wire/statistics/call_scope.hpp"

namespace impishim::wire {

void TimeLine::add_call(CallScope scope, std::uint64_t begin_ns, std::uint64_t end_ns) {
  if (end_ns <= begin_ns) return;
  static_cast<void>(bin_at(end_ns - 1));  // the width may change, so first
  for (std::uint64_t at = begin_ns; at < end_ns;) {
    const std::uint64_t until = std::min(end_ns, (at / width_ + 1) * width_);
    bin_at(at).ns[index_of(scope)] += until - at;
    at = until;
  }
}

void TimeLine::add_message(CallScope scope, std::uint64_t at_ns, std::uint64_t bytes) {
  bin_at(at_ns).bytes[index_of(scope)] += bytes;
}

TimeBin& TimeLine::bin_at(std::uint64_t at_ns) {
  while (at_ns / width_ >= kMostBins) halve();
  const auto index = static_cast<std::size_t>(at_ns / width_);
  if (index >= bins_.size()) bins_.resize(index + 1);
  return bins_[index];
}

void TimeLine::halve() {
  width_ *= 2;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const TimeBin bin = bins_[i];
    if (i % 2 == 0) {
      bins_[i / 2] = bin;
      continue;
    }
    for (std::size_t scope = 0; scope < kScopes; ++scope) {
      bins_[i / 2].ns[scope] += bin.ns[scope];
      bins_[i / 2].bytes[scope] += bin.bytes[scope];
    }
  }
  bins_.resize((bins_.size() + 1) / 2);
}

}  // namespace impishim::wire
