// SPDX-License-Identifier: Apache-2.0
/// Big-endian integers in byte buffers. IMPI 1.2.1: all integral values are two's complement and
/// big-endian.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace impishim {

namespace detail {

/// Returns `value` with its bytes reversed if this machine is little-endian.
template <class Integer>
[[nodiscard]] Integer to_or_from_big_endian(Integer value) {
  static_assert(std::is_integral_v<Integer>);
  if constexpr (std::endian::native == std::endian::little) {
    if constexpr (sizeof(Integer) == 2)
      return static_cast<Integer>(__builtin_bswap16(static_cast<std::uint16_t>(value)));
    if constexpr (sizeof(Integer) == 4)
      return static_cast<Integer>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
    if constexpr (sizeof(Integer) == 8)
      return static_cast<Integer>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
  }
  return value;
}

}  // namespace detail

/// Stores `value` at `at` in big-endian order; `at` must have room for sizeof(Integer) bytes.
template <class Integer>
void store_big_endian(std::byte* at, Integer value) {
  const Integer ordered = detail::to_or_from_big_endian(value);
  std::memcpy(at, &ordered, sizeof(ordered));
}

/// Loads a big-endian integer from `at`, which must hold sizeof(Integer) bytes.
template <class Integer>
[[nodiscard]] Integer load_big_endian(const std::byte* at) {
  Integer ordered;
  std::memcpy(&ordered, at, sizeof(ordered));
  return detail::to_or_from_big_endian(ordered);
}

/// Appends big-endian integers and raw bytes to a growing buffer.
class ByteWriter {
 public:
  template <class Integer>
  void put(Integer value) {
    std::array<std::byte, sizeof(Integer)> stored;
    store_big_endian(stored.data(), value);
    put_bytes(stored);
  }
  void put_bytes(std::span<const std::byte> bytes);
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads big-endian integers from a buffer and never runs past its end.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  [[nodiscard]] std::size_t remaining() const { return rest_.size(); }

  /// Returns the next integer. Returns nothing, and consumes nothing, if fewer bytes are left.
  template <class Integer>
  [[nodiscard]] std::optional<Integer> get() {
    if (rest_.size() < sizeof(Integer)) return std::nullopt;
    const auto value = load_big_endian<Integer>(rest_.data());
    rest_ = rest_.subspan(sizeof(Integer));
    return value;
  }

  /// Returns the next `count` bytes, or nothing if fewer are left.
  [[nodiscard]] std::optional<std::span<const std::byte>> get_bytes(std::size_t count) {
    if (rest_.size() < count) return std::nullopt;
    const auto bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace impishim
