// SPDX-License-Identifier: Apache-2.0
#include "wire/data/element.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "wire/base/bytes.hpp"
#include "wire/data/basic_type.hpp"

namespace impishim::wire {
namespace {

/// Copies elements with the same size on both sides. At most the byte order differs.
template <class Bits>
void copy_big_endian(const std::byte* from, std::byte* to, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, from + i * sizeof(Bits), sizeof(Bits));
    if constexpr (std::endian::native == std::endian::little) {
      if constexpr (sizeof(Bits) == 2) bits = __builtin_bswap16(bits);
      if constexpr (sizeof(Bits) == 4) bits = __builtin_bswap32(bits);
      if constexpr (sizeof(Bits) == 8) bits = __builtin_bswap64(bits);
    }
    std::memcpy(to + i * sizeof(Bits), &bits, sizeof(Bits));
  }
}

enum class Direction : std::uint8_t { kToWire, kFromWire };

/// Converts integers whose size differs between the machine and the wire. Stops at a value that
/// does not fit. Returns the number of converted elements.
template <Direction direction, class Native, class Wire>
std::uint64_t convert_integers(const std::byte* from, std::byte* to, std::uint64_t count) {
  constexpr bool kToWire = direction == Direction::kToWire;
  using From = std::conditional_t<kToWire, Native, Wire>;
  using To = std::conditional_t<kToWire, Wire, Native>;
  for (std::uint64_t i = 0; i < count; ++i, from += sizeof(From), to += sizeof(To)) {
    From value;
    if constexpr (kToWire) {
      std::memcpy(&value, from, sizeof(value));
    } else {
      value = load_big_endian<From>(from);
    }
    const auto narrowed = static_cast<To>(value);
    if (static_cast<From>(narrowed) != value || (value < From{}) != (narrowed < To{})) return i;
    if constexpr (kToWire) {
      store_big_endian(to, narrowed);
    } else {
      std::memcpy(to, &narrowed, sizeof(narrowed));
    }
  }
  return count;
}

constexpr bool kX87 = std::numeric_limits<long double>::digits == 64 && sizeof(long double) == 16;
constexpr bool kQuad = std::numeric_limits<long double>::digits == 113;
static_assert(kX87 || kQuad, "long double of this machine has no conversion to IEEE binary128 yet");

/// Converts an x87 extended value to binary128. x87 has sign and exponent in 16 bits, then a 64-bit
/// significand with an explicit leading one. binary128 has the same exponent range, an implicit
/// leading one and 112 bits of fraction, so every normal number converts exactly.
void x87_to_quad(const std::byte* from, std::byte* to) {
  std::uint64_t significand = 0;
  std::uint16_t sign_exponent = 0;
  std::memcpy(&significand, from, sizeof(significand));
  std::memcpy(&sign_exponent, from + 8, sizeof(sign_exponent));
  std::uint64_t exponent = sign_exponent & 0x7fffU;
  const std::uint64_t sign = static_cast<std::uint64_t>(sign_exponent >> 15U) << 63U;
  if (exponent == 0 && significand != 0) {
    // x87's smallest exponent is really 1. Denormals stay denormals in binary128, where the leading
    // bit is implicit.
    if ((significand >> 63U) != 0) exponent = 1;
  }
  const std::uint64_t fraction =
      significand & 0x7fffffffffffffffULL;  // 63 bits, which become the highest of the 112
  store_big_endian(to, sign | (exponent << 48U) | (fraction >> 15U));
  store_big_endian(to + 8, fraction << 49U);
}

/// Converts binary128 to x87. Rounds the extra 49 bits to the nearest value, ties to even.
void quad_to_x87(const std::byte* from, std::byte* to) {
  const auto high = load_big_endian<std::uint64_t>(from);
  const auto low = load_big_endian<std::uint64_t>(from + 8);
  const std::uint64_t sign = high >> 63U;
  std::uint64_t exponent = (high >> 48U) & 0x7fffU;
  std::uint64_t fraction = ((high & 0xffffffffffffULL) << 15U) | (low >> 49U);
  const std::uint64_t rest = low & ((1ULL << 49U) - 1);
  const std::uint64_t half = 1ULL << 48U;
  const bool special = exponent == 0x7fffU;
  if (special && rest != 0 && fraction == 0)
    fraction = 1ULL << 62U;  // a NaN must not become an infinity
  if (!special && (rest > half || (rest == half && (fraction & 1U) != 0))) ++fraction;
  if ((fraction >> 63U) != 0) {
    fraction = 0;
    ++exponent;
  }
  const std::uint64_t leading = exponent == 0 ? 0 : 1ULL << 63U;
  const std::uint64_t significand = leading | fraction;
  const auto sign_exponent = static_cast<std::uint16_t>((sign << 15U) | exponent);
  std::memset(to, 0, sizeof(long double));
  std::memcpy(to, &significand, sizeof(significand));
  std::memcpy(to + 8, &sign_exponent, sizeof(sign_exponent));
}

/// Copies a value that is binary128 on both sides. At most the byte order differs.
void copy_quad(const std::byte* from, std::byte* to) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::memcpy(&low, from, sizeof(low));
  std::memcpy(&high, from + sizeof(low), sizeof(high));
  if constexpr (std::endian::native == std::endian::little) std::swap(low, high);
  // The words are swapped above, and the bytes inside them by the stores. Both directions do the
  // same.
  store_big_endian(to, low);
  store_big_endian(to + sizeof(low), high);
}

template <Direction direction>
void convert_long_doubles(const std::byte* from, std::byte* to, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i, from += 16, to += 16) {
    if constexpr (!kX87) {
      copy_quad(from, to);
    } else if constexpr (direction == Direction::kToWire) {
      x87_to_quad(from, to);
    } else {
      quad_to_x87(from, to);
    }
  }
}

/// Converts types with one size on both sides. Returns false if `type` is not one of these.
bool convert_equal(BasicType type, Format format, const std::byte* from, std::byte* to,
                   std::uint64_t count) {
  if (type == BasicType::kLongDouble ||
      element_size(type, Format::kNative) != element_size(type, format))
    return false;
  switch (element_size(type, format)) {
    case 1:
      std::memcpy(to, from, count);
      return true;
    case 2:
      copy_big_endian<std::uint16_t>(from, to, count);
      return true;
    case 4:
      copy_big_endian<std::uint32_t>(from, to, count);
      return true;
    case 8:
      copy_big_endian<std::uint64_t>(from, to, count);
      return true;
    default:
      return false;
  }
}

using WideCharWire16 = std::uint16_t;
using WideCharNative = std::conditional_t<sizeof(wchar_t) == 4, std::uint32_t, std::uint16_t>;

/// Converts elements of any type. Returns the number of converted elements.
template <Direction direction>
std::uint64_t convert(BasicType type, Format format, const std::byte* from, std::byte* to,
                      std::uint64_t count) {
  if (convert_equal(type, format, from, to, count)) return count;
  const bool narrow = format == Format::kExternal32;
  switch (type) {
    case BasicType::kSignedLong:
      return narrow ? convert_integers<direction, long, std::int32_t>(from, to, count)
                    : convert_integers<direction, long, std::int64_t>(from, to, count);
    case BasicType::kUnsignedLong:
      return narrow ? convert_integers<direction, unsigned long, std::uint32_t>(from, to, count)
                    : convert_integers<direction, unsigned long, std::uint64_t>(from, to, count);
    case BasicType::kWideChar:
      return narrow ? convert_integers<direction, WideCharNative, WideCharWire16>(from, to, count)
                    : convert_integers<direction, WideCharNative, std::uint32_t>(from, to, count);
    case BasicType::kQuad:
      for (std::uint64_t i = 0; i < count; ++i) copy_quad(from + i * 16, to + i * 16);
      return count;
    default:
      convert_long_doubles<direction>(from, to, count);
      return count;
  }
}

}  // namespace

std::uint64_t elements_to_wire(BasicType type, Format format, const std::byte* from, std::byte* to,
                               std::uint64_t count) {
  return convert<Direction::kToWire>(type, format, from, to, count);
}

std::uint64_t elements_from_wire(BasicType type, Format format, const std::byte* from,
                                 std::byte* to, std::uint64_t count) {
  return convert<Direction::kFromWire>(type, format, from, to, count);
}

}  // namespace impishim::wire
