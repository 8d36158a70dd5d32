// SPDX-License-Identifier: Apache-2.0
/// Packing and unpacking of flattened data in any format, in pieces of any size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/base/result.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/data/type_map_cursor.hpp"

namespace impishim::wire {

/// Size in bytes of the largest basic element in any format.
inline constexpr std::size_t kLargestElement = 16;

/// Reads a buffer's elements in type-map order as one stream of packed bytes. A piece may end
/// inside an element; the next call continues there. The buffer must outlive the cursor.
class PackCursor {
 public:
  PackCursor() = default;
  PackCursor(const ConstBuffer& buffer, Format format);

  /// Fills `out`, or less at the end of the data, and returns the number of bytes written. Fails
  /// with kConversion if a value does not fit its wire form (LONG or WCHAR in external32); the text
  /// names the type.
  [[nodiscard]] Result<std::size_t> pack(std::span<std::byte> out);

  /// Returns the next bytes in the user's memory, at most `limit`, and advances past them. The
  /// result is empty if the data is not contiguous, the format converts, or all data has been read.
  /// Lets a channel send directly from the user's buffer.
  [[nodiscard]] std::span<const std::byte> borrow(std::size_t limit);

  [[nodiscard]] bool straight() const {
    return straight_;
  }  ///< true if borrow() can return all of the data
  [[nodiscard]] std::uint64_t total() const {
    return total_;
  }  ///< packed bytes of the whole buffer
  [[nodiscard]] std::uint64_t position() const {
    return position_;
  }  ///< packed bytes already taken

 private:
  [[nodiscard]] bool pack_runs(std::byte* out, std::uint64_t runs);

  const std::byte* base_ = nullptr;
  Format format_ = Format::kNative;
  bool straight_ = false;  ///< the packed form and the memory are the same
  std::uint64_t total_ = 0;
  std::uint64_t position_ = 0;
  std::optional<TypeMapCursor> place_;  ///< for data that is not straight
  std::array<std::byte, kLargestElement>
      partial_{};  ///< an element of which only the first bytes have been read
  std::size_t partial_size_ = 0;
  std::size_t partial_taken_ = 0;
};

/// Writes a stream of packed bytes to a buffer's elements in type-map order. A piece may end inside
/// an element; its first bytes are kept until the next call.
class UnpackCursor {
 public:
  UnpackCursor() = default;
  UnpackCursor(const MutableBuffer& buffer, Format format);

  /// Stores all of `in`. Fails with kTruncation if the buffer is full before the end of `in`; the
  /// bytes that fit are stored. Fails with kConversion if a value does not fit this machine's type.
  [[nodiscard]] Result<void> unpack(std::span<const std::byte> in);

  /// Returns the place in the user's memory for the next bytes, at most `limit`, and advances past
  /// it. The result is empty if the data is not contiguous, the format converts, or the buffer is
  /// full. Lets a channel read directly into the user's buffer.
  [[nodiscard]] std::span<std::byte> borrow(std::size_t limit);
  /// Returns the same place without advancing.
  [[nodiscard]] std::span<std::byte> next(std::size_t limit) const;

  [[nodiscard]] std::uint64_t total() const {
    return total_;
  }  ///< packed bytes that the whole buffer can take
  [[nodiscard]] std::uint64_t position() const {
    return position_;
  }  ///< packed bytes already stored
  /// Returns the size of the stored data in this machine's representation.
  [[nodiscard]] std::uint64_t native_bytes() const { return straight_ ? position_ : native_bytes_; }

 private:
  [[nodiscard]] bool unpack_runs(const std::byte* in, std::uint64_t runs);

  std::byte* base_ = nullptr;
  Format format_ = Format::kNative;
  bool straight_ = false;
  std::uint64_t total_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t native_bytes_ = 0;
  std::optional<TypeMapCursor> place_;  ///< for data that is not straight
  std::array<std::byte, kLargestElement>
      partial_{};  ///< the first bytes of an element that is still incomplete
  std::size_t partial_size_ = 0;
};

}  // namespace impishim::wire
