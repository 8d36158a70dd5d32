// SPDX-License-Identifier: Apache-2.0
#include "wire/resume/byte_ranges.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace impishim::wire {

void ByteRanges::add(ByteRange range) {
  if (range.begin >= range.end) return;
  auto place = ranges_.upper_bound(range.begin);
  if (place != ranges_.begin() && std::prev(place)->second >= range.begin) --place;
  while (place != ranges_.end() && place->first <= range.end) {
    range.begin = std::min(range.begin, place->first);
    range.end = std::max(range.end, place->second);
    place = ranges_.erase(place);
  }
  ranges_.emplace_hint(place, range.begin, range.end);
}

void ByteRanges::remove_before(std::uint64_t position) {
  while (!ranges_.empty() && ranges_.begin()->first < position) {
    const std::uint64_t end = ranges_.begin()->second;
    ranges_.erase(ranges_.begin());
    if (end > position) ranges_.emplace_hint(ranges_.begin(), position, end);
  }
}

}  // namespace impishim::wire
