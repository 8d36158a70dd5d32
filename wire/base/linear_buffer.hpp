// SPDX-License-Identifier: Apache-2.0
/// A queue of bytes that always lie in one piece.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "wire/base/assert.hpp"

namespace impishim::wire {

/// Bytes are added at the end and removed at the beginning. The memory is allocated once, and its
/// pages are not touched before they are used. Not thread-safe.
class LinearBuffer {
 public:
  explicit LinearBuffer(std::size_t capacity)
      : memory_(std::make_unique_for_overwrite<std::byte[]>(capacity)), capacity_(capacity) {}

  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {memory_.get() + begin_, end_ - begin_};
  }
  /// Returns the free memory behind the bytes; write there, and then add().
  [[nodiscard]] std::span<std::byte> room() { return {memory_.get() + end_, capacity_ - end_}; }
  void add(std::size_t size) {
    IMPISHIM_ASSERT(size <= capacity_ - end_);
    end_ += size;
  }
  void remove(std::size_t size) {
    IMPISHIM_ASSERT(size <= end_ - begin_);
    begin_ += size;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  /// Moves the bytes to the front if there is no room for `size` more behind them, and at least as
  /// much room as bytes before them: the moves then cost less than what was removed.
  void make_room(std::size_t size) {
    const std::size_t held = end_ - begin_;
    if (capacity_ - end_ >= size || begin_ == 0 || begin_ < held) return;
    std::memcpy(memory_.get(), memory_.get() + begin_, held);
    begin_ = 0;
    end_ = held;
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t capacity_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace impishim::wire
