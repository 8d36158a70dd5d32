// SPDX-License-Identifier: Apache-2.0
/// The bytes of a striped stream that have arrived before others that come first.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "wire/resume/byte_ranges.hpp"

namespace impishim::wire {

/// Has memory for the positions that were asked for, in blocks. The caller bounds how far they lie
/// behind the first byte that is missing, and so the memory.
class ReorderBuffer {
 public:
  static constexpr std::size_t kBlockSize = 1U << 16U;
  /// Most separate ranges that a peer may make this end keep.
  static constexpr std::size_t kMostRanges = 1U << 15U;
  /// Memory that an empty buffer keeps.
  static constexpr std::size_t kKeptBlocks = 16;
  /// Most pieces that prepare() fills for a block's size of bytes.
  static constexpr std::size_t kMostPieces = 2;

  /// Fills `pieces` with the memory for the bytes from `position`, at most `size` and as many as
  /// the pieces can hold. Returns the pieces that were filled.
  [[nodiscard]] std::span<iovec> prepare(std::uint64_t position, std::size_t size,
                                         std::span<iovec> pieces);
  /// Says that these bytes are in their memory.
  void add(ByteRange range) { ranges_.add(range); }
  /// Copies bytes from `position` on into `memory`. Returns their number.
  [[nodiscard]] std::size_t copy(std::uint64_t position, std::span<std::byte> memory) const;
  /// Forgets the bytes before `position`.
  void forget(std::uint64_t position);
  /// Returns true if the byte at `position` is the first one that is here.
  [[nodiscard]] bool continues(std::uint64_t position) const {
    return !ranges_.empty() && ranges_.first().begin == position;
  }
  [[nodiscard]] const ByteRanges& ranges() const { return ranges_; }
  /// Returns the memory in use, in bytes.
  [[nodiscard]] std::size_t memory() const { return (blocks_.size() + spare_.size()) * kBlockSize; }

 private:
  using Block = std::unique_ptr<std::byte[]>;
  std::map<std::uint64_t, Block> blocks_;  ///< by the position of their first byte / kBlockSize
  std::vector<Block> spare_;
  ByteRanges ranges_;
};

}  // namespace impishim::wire
