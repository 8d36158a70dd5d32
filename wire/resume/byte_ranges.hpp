// SPDX-License-Identifier: Apache-2.0
/// A set of bytes of a stream, as ranges of their positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace impishim::wire {

/// The bytes from `begin` to before `end`.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] std::uint64_t size() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

/// Ranges that touch each other are one.
class ByteRanges {
 public:
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  /// Returns the number of separate ranges.
  [[nodiscard]] std::size_t count() const { return ranges_.size(); }
  /// Returns the first range. There must be one.
  [[nodiscard]] ByteRange first() const {
    return {ranges_.begin()->first, ranges_.begin()->second};
  }
  /// Returns the position behind the last byte, 0 if there is none.
  [[nodiscard]] std::uint64_t end() const { return empty() ? 0 : ranges_.rbegin()->second; }
  void add(ByteRange range);
  /// Removes all bytes before `position`.
  void remove_before(std::uint64_t position);
  void clear() { ranges_.clear(); }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  ///< the end of each range by its beginning
};

}  // namespace impishim::wire
