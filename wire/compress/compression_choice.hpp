// SPDX-License-Identifier: Apache-2.0
/// Decides which bytes of a stream are compressed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace impishim::wire {

/// Compresses where the road is slower than the compressor, and where bytes shrink. A road that
/// takes all bytes at once loses nothing: bytes are compressed only for a while after the
/// connection was full. If pieces do not shrink, or the connection is never full while they are
/// compressed, the compressor rests, each time twice as long until it has a success. A pure state
/// machine.
class CompressionChoice {
 public:
  /// Shorter pieces take several times as much time for each byte.
  static constexpr std::size_t kLeast = 4096;
  /// Bytes that are compressed after the connection was full.
  static constexpr std::uint64_t kAfterFull = 2U << 20U;
  /// Pieces in turn that do not shrink before the compressor rests.
  static constexpr unsigned kMostMisses = 4;
  /// Bytes that go plain in a rest.
  static constexpr std::uint64_t kFirstRest = 256U << 10U;
  static constexpr std::uint64_t kLongestRest = 64U << 20U;

  /// Returns true if a piece of so many bytes is to be compressed.
  [[nodiscard]] bool compresses(std::size_t size) const {
    return size >= kLeast && after_full_ > 0 && rest_ == 0;
  }
  /// Takes note of bytes that have not been compressed, because compresses() said so.
  void went_plain(std::size_t size) { rest_ -= std::min<std::uint64_t>(rest_, size); }
  /// Takes note that the connection was full.
  void found_full() {
    if (busy_ && misses_ == 0) next_rest_ = kFirstRest;
    busy_ = false;
    after_full_ = kAfterFull;
  }
  /// Takes note of a piece that the compressor has tried, and whether it shrank.
  void tried(std::size_t size, bool shrank) {
    busy_ = true;
    misses_ = shrank ? 0 : misses_ + 1;
    after_full_ -= std::min<std::uint64_t>(after_full_, size);
    if (misses_ == kMostMisses || after_full_ == 0) begin_rest();
  }

 private:
  void begin_rest() {
    rest_ = next_rest_;
    next_rest_ = std::min(2 * next_rest_, kLongestRest);
    misses_ = 0;
    busy_ = false;
  }

  std::uint64_t after_full_ = 0;  ///< bytes that are still compressed
  std::uint64_t rest_ = 0;        ///< bytes that still go plain
  std::uint64_t next_rest_ = kFirstRest;
  unsigned misses_ = 0;
  bool busy_ = false;  ///< pieces were compressed since the connection was full
};

}  // namespace impishim::wire
