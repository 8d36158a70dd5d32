// SPDX-License-Identifier: Apache-2.0
/// Buffers for payloads that have no place in the user's memory yet: unexpected, relayed, or packed
/// for sending.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace impishim::wire {

/// An owned buffer of fixed capacity; empty by default.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t capacity) : bytes_(new std::byte[capacity]), capacity_(capacity) {}

  [[nodiscard]] std::byte* data() const { return bytes_.get(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::span<std::byte> first(std::size_t size) const { return {bytes_.get(), size}; }
  explicit operator bool() const { return bytes_ != nullptr; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t capacity_ = 0;
};

/// Keeps a bounded number of buffers of two sizes for reuse, so that steady traffic allocates
/// nothing.
class BufferPool {
 public:
  explicit BufferPool(std::size_t large_size) : large_size_(large_size) {}

  /// Returns a buffer of at least `size` bytes.
  [[nodiscard]] Buffer take(std::size_t size) {
    if (size <= kSmallSize) return take_from(small_, kSmallSize);
    if (size <= large_size_) return take_from(large_, large_size_);
    return Buffer(size);
  }

  /// Takes a buffer back; ignores an empty one.
  void put(Buffer&& buffer) {
    if (!buffer) return;
    // A buffer that is not kept is freed with `given`.
    Buffer given = std::move(buffer);
    if (given.capacity() == kSmallSize && small_.size() < kSmallKept) {
      small_.push_back(std::move(given));
    } else if (given.capacity() == large_size_ && large_.size() < kLargeKept) {
      large_.push_back(std::move(given));
    }
  }

 private:
  static constexpr std::size_t kSmallSize = 1024;
  static constexpr std::size_t kSmallKept = 512;
  static constexpr std::size_t kLargeKept = 32;

  static Buffer take_from(std::vector<Buffer>& kept, std::size_t size) {
    if (kept.empty()) return Buffer(size);
    Buffer buffer = std::move(kept.back());
    kept.pop_back();
    return buffer;
  }

  std::size_t large_size_;
  std::vector<Buffer> small_;
  std::vector<Buffer> large_;
};

}  // namespace impishim::wire
