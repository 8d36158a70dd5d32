// SPDX-License-Identifier: Apache-2.0
/// Packing and unpacking of flattened data in any format, in pieces of any size.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/data/type_map_cursor.hpp"

namespace impishim::wire {

/// Size in bytes of the largest basic element in any format.
inline constexpr std::size_t kLargestElement = 16;

/// The part of a cursor that does not depend on its direction: the place in a buffer, which moves
/// in type-map order. `Byte` is std::byte, const for reading.
template <class Byte>
class BufferCursor {
 public:
  /// Returns true if the packed form and the memory are the same, and borrow() can return all of
  /// the data.
  [[nodiscard]] bool straight() const { return straight_; }
  /// Returns the packed bytes of the whole buffer.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// Returns the packed bytes that are done.
  [[nodiscard]] std::uint64_t position() const { return position_; }

  /// Returns the next bytes in the user's memory, at most `limit`. The result is empty if the data
  /// is not contiguous, the format converts, or all data is done. Lets a channel send directly from
  /// the user's buffer, or read into it.
  [[nodiscard]] std::span<Byte> next(std::size_t limit) const {
    if (!straight_) return {};
    return {base_ + position_,
            static_cast<std::size_t>(std::min<std::uint64_t>(limit, total_ - position_))};
  }
  /// Returns the same bytes, and advances past them.
  [[nodiscard]] std::span<Byte> borrow(std::size_t limit) {
    const std::span<Byte> bytes = next(limit);
    position_ += bytes.size();
    return bytes;
  }

 protected:
  BufferCursor() = default;
  template <class AnyBuffer>
  BufferCursor(const AnyBuffer& buffer, Format format)
      : base_(buffer.base),
        format_(format),
        straight_(format == Format::kNative && buffer.layout->contiguous(buffer.count)),
        total_(buffer.packed_size(format)) {
    if (straight_) {
      base_ = moved(base_, buffer.layout->first_offset());
    } else {
      place_.emplace(*buffer.layout, buffer.count);
    }
  }
  ~BufferCursor() = default;
  BufferCursor(const BufferCursor&) = default;
  BufferCursor& operator=(const BufferCursor&) = default;

  Byte* base_ = nullptr;
  Format format_ = Format::kNative;
  bool straight_ = false;
  std::uint64_t total_ = 0;
  std::uint64_t position_ = 0;
  std::optional<TypeMapCursor> place_;  ///< for data that is not straight
  /// An element of which only the first bytes have been taken or stored.
  std::array<std::byte, kLargestElement> partial_{};
  std::size_t partial_size_ = 0;
};

/// Reads a buffer's elements in type-map order as one stream of packed bytes. A piece may end
/// inside an element; the next call continues there. The buffer must outlive the cursor.
class PackCursor : public BufferCursor<const std::byte> {
 public:
  PackCursor() = default;
  PackCursor(const ConstBuffer& buffer, Format format) : BufferCursor(buffer, format) {}

  /// Fills `out`, or less at the end of the data, and returns the number of bytes written. Fails
  /// with kConversion if a value does not fit its wire form (LONG or WCHAR in external32); the text
  /// names the type.
  [[nodiscard]] Result<std::size_t> pack(std::span<std::byte> out);

 private:
  [[nodiscard]] bool pack_runs(std::byte* out, std::uint64_t runs);

  std::size_t partial_taken_ = 0;
};

/// Writes a stream of packed bytes to a buffer's elements in type-map order. A piece may end inside
/// an element; its first bytes are kept until the next call.
class UnpackCursor : public BufferCursor<std::byte> {
 public:
  UnpackCursor() = default;
  UnpackCursor(const MutableBuffer& buffer, Format format) : BufferCursor(buffer, format) {}

  /// Stores all of `in`. Fails with kTruncation if the buffer is full before the end of `in`; the
  /// bytes that fit are stored. Fails with kConversion if a value does not fit this machine's type.
  [[nodiscard]] Result<void> unpack(std::span<const std::byte> in);

  /// Returns the size of the stored data in this machine's representation.
  [[nodiscard]] std::uint64_t native_bytes() const { return straight_ ? position_ : native_bytes_; }

 private:
  [[nodiscard]] bool unpack_runs(const std::byte* in, std::uint64_t runs);

  std::uint64_t native_bytes_ = 0;
};

}  // namespace impishim::wire
