// SPDX-License-Identifier: Apache-2.0
#include "wire/data/basic_type.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace impishim::wire {
namespace {

struct Sizes {
  std::size_t native;
  std::size_t external32;
  std::size_t wide;
};

constexpr std::array<Sizes, static_cast<std::size_t>(BasicType::kNumberOfTypes)> kSizes = {{
    {1, 1, 1},                      // kByte
    {2, 2, 2},                      // kInt16
    {4, 4, 4},                      // kInt32
    {8, 8, 8},                      // kInt64
    {sizeof(long), 4, 8},           // kSignedLong
    {sizeof(unsigned long), 4, 8},  // kUnsignedLong
    {sizeof(wchar_t), 2, 4},        // kWideChar
    {sizeof(float), 4, 4},          // kFloat
    {sizeof(double), 8, 8},         // kDouble
    {sizeof(long double), 16, 16},  // kLongDouble
    {16, 16, 16},                   // kQuad
}};

constexpr std::array<std::string_view, 3> kFormatNames = {"native", "external32", "wide"};

}  // namespace

std::size_t element_size(BasicType type, Format format) {
  const Sizes& sizes = kSizes[static_cast<std::size_t>(type)];
  switch (format) {
    case Format::kNative:
      return sizes.native;
    case Format::kExternal32:
      return sizes.external32;
    case Format::kWide:
      break;
  }
  return sizes.wide;
}

std::uint64_t representation_fingerprint() {
  // FNV-1a over everything that the native bytes depend on.
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&](std::uint64_t value) {
    for (int i = 0; i < 8; ++i) {
      hash = (hash ^ ((value >> (8 * i)) & 0xffU)) * 0x100000001b3ULL;
    }
  };
  mix(std::endian::native == std::endian::little ? 1 : 2);
  for (const Sizes& sizes : kSizes) mix(sizes.native);
  mix(static_cast<std::uint64_t>(std::numeric_limits<float>::digits));
  mix(static_cast<std::uint64_t>(std::numeric_limits<double>::digits));
  mix(static_cast<std::uint64_t>(std::numeric_limits<long double>::digits));
  return hash;
}

std::optional<Format> format_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kFormatNames.size(); ++i) {
    if (kFormatNames[i] == name) return static_cast<Format>(i);
  }
  return std::nullopt;
}

std::string_view format_name(Format format) {
  return kFormatNames[static_cast<std::size_t>(format)];
}

}  // namespace impishim::wire
