/// Big-endian integers in byte buffers (IMPI 1.2.1: all integral values are two's complement, big-endian).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace impishim {

/// Stores `value` at `at` in big-endian order; `at` must have room for sizeof(Integer) bytes.
template <class Integer>
void store_big_endian(std::byte* at, Integer value) {
  static_assert(std::is_integral_v<Integer>);
  auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  for (std::size_t i = sizeof(Integer); i-- > 0;) {
    at[i] = static_cast<std::byte>(bits & 0xffU);
    if constexpr (sizeof(Integer) > 1) bits = static_cast<decltype(bits)>(bits >> 8U);
  }
}

/// Loads a big-endian integer from `at`, which must hold sizeof(Integer) bytes.
template <class Integer>
[[nodiscard]] Integer load_big_endian(const std::byte* at) {
  static_assert(std::is_integral_v<Integer>);
  std::make_unsigned_t<Integer> bits = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    if constexpr (sizeof(Integer) > 1) bits = static_cast<decltype(bits)>(bits << 8U);
    bits = static_cast<decltype(bits)>(bits | std::to_integer<unsigned>(at[i]));
  }
  return static_cast<Integer>(bits);
}

/// Appends big-endian integers and raw bytes to a growing buffer.
class ByteWriter {
 public:
  template <class Integer>
  void put(Integer value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(Integer));
    store_big_endian(bytes_.data() + at, value);
  }
  void put_bytes(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
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

  /// The next integer, or nothing if fewer bytes are left (none are then consumed).
  template <class Integer>
  [[nodiscard]] std::optional<Integer> get() {
    if (rest_.size() < sizeof(Integer)) return std::nullopt;
    const auto value = load_big_endian<Integer>(rest_.data());
    rest_ = rest_.subspan(sizeof(Integer));
    return value;
  }

  /// The next `count` bytes, or nothing if fewer are left.
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
