// SPDX-License-Identifier: Apache-2.0
/// The bytes of a stream that the peer has not acknowledged.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace impishim::wire {

/// Keeps a copy of the bytes from begin() to end() of a stream, at most a fixed number. Bytes are
/// named by their position in the stream. The memory grows in blocks as it is needed, and shrinks
/// when all is acknowledged.
class ResendBuffer {
 public:
  static constexpr std::size_t kBlockSize = 1U << 16U;
  /// Memory that an empty buffer keeps.
  static constexpr std::size_t kKeptBlocks = 4;

  explicit ResendBuffer(std::size_t bound) : bound_(bound) {}
  ResendBuffer(const ResendBuffer&) = delete;
  ResendBuffer& operator=(const ResendBuffer&) = delete;
  ~ResendBuffer() = default;

  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// Returns the number of bytes that append() may take.
  [[nodiscard]] std::size_t room() const {
    return bound_ - static_cast<std::size_t>(end_ - begin_);
  }
  /// Copies the first `size` bytes of `pieces` behind the end. `size` is at most room().
  void append(std::span<const iovec> pieces, std::size_t size);
  /// Forgets the bytes before `position`, which lies between begin() and end().
  void forget(std::uint64_t position);
  /// Fills `pieces` with the memory of the bytes from `position`, at most `size`; as many as the
  /// pieces can hold. All of them must be in the buffer. Returns the pieces that were filled.
  [[nodiscard]] std::span<iovec> find(std::uint64_t position, std::size_t size,
                                      std::span<iovec> pieces) const;
  /// Returns the memory in use, in bytes.
  [[nodiscard]] std::size_t memory() const { return (blocks_.size() + spare_.size()) * kBlockSize; }

 private:
  using Block = std::unique_ptr<std::byte[]>;
  void append_bytes(std::span<const std::byte> bytes);

  std::size_t bound_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t origin_ = 0;  ///< position of the first byte of the first block
  std::deque<Block> blocks_;  ///< the bytes from origin_ on
  std::vector<Block> spare_;  ///< blocks that were used before
};

}  // namespace impishim::wire
