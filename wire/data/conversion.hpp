/// Packing and unpacking of flattened data, in any format, in pieces of any size.
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

/// Bytes of the largest basic element in any format.
inline constexpr std::size_t kLargestElement = 16;

/// Reads a buffer's elements in type-map order as one stream of packed bytes.
/// Pieces may end inside an element; the next call goes on there. The buffer must outlive the
/// cursor.
class PackCursor {
 public:
  PackCursor() = default;
  PackCursor(const ConstBuffer& buffer, Format format);

  /// Fills `out`, or less at the end of the data; returns the bytes written.
  /// kConversion: a value does not fit its wire form (LONG or WCHAR in external32); the message
  /// says which.
  [[nodiscard]] Result<std::size_t> pack(std::span<std::byte> out);

  /// The next bytes as they stand in the user's memory, at most `limit`, and moves past them; empty
  /// if the data is not contiguous, the format converts, or all is read. Lets a channel send from
  /// the user's buffer.
  [[nodiscard]] std::span<const std::byte> borrow(std::size_t limit);

  [[nodiscard]] bool straight() const { return straight_; }  ///< borrow() lends all of it
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
  bool straight_ = false;  ///< packed form and memory are the same
  std::uint64_t total_ = 0;
  std::uint64_t position_ = 0;
  std::optional<TypeMapCursor> place_;  ///< of data that is not straight
  std::array<std::byte, kLargestElement>
      partial_{};  ///< an element whose first bytes have been taken
  std::size_t partial_size_ = 0;
  std::size_t partial_taken_ = 0;
};

/// Writes a stream of packed bytes to a buffer's elements in type-map order.
/// Pieces may end inside an element; the rest is kept until the next call.
class UnpackCursor {
 public:
  UnpackCursor() = default;
  UnpackCursor(const MutableBuffer& buffer, Format format);

  /// Stores all of `in`. kTruncation if the buffer is full before its end (what fits is stored).
  /// kConversion: a value does not fit this machine's type.
  [[nodiscard]] Result<void> unpack(std::span<const std::byte> in);

  /// The place in the user's memory where the next bytes belong, at most `limit`, and moves past
  /// them; empty if the data is not contiguous, the format converts, or the buffer is full. Lets a
  /// channel read into the user's buffer.
  [[nodiscard]] std::span<std::byte> borrow(std::size_t limit);
  /// The same place, without moving.
  [[nodiscard]] std::span<std::byte> next(std::size_t limit) const;

  [[nodiscard]] std::uint64_t total() const {
    return total_;
  }  ///< packed bytes that the whole buffer can take
  [[nodiscard]] std::uint64_t position() const {
    return position_;
  }  ///< packed bytes already stored
  /// The same data's size in this machine's representation.
  [[nodiscard]] std::uint64_t native_bytes() const { return straight_ ? position_ : native_bytes_; }

 private:
  [[nodiscard]] bool unpack_runs(const std::byte* in, std::uint64_t runs);

  std::byte* base_ = nullptr;
  Format format_ = Format::kNative;
  bool straight_ = false;
  std::uint64_t total_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t native_bytes_ = 0;
  std::optional<TypeMapCursor> place_;  ///< of data that is not straight
  std::array<std::byte, kLargestElement>
      partial_{};  ///< the first bytes of an element that has not arrived whole
  std::size_t partial_size_ = 0;
};

}  // namespace impishim::wire
