// SPDX-License-Identifier: Apache-2.0
/// Packing of few values, for tests with bytes written by hand.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/data/conversion.hpp"

namespace impishim::wire {

/// Bytes as lower-case hexadecimal digits.
inline std::string hex(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

/// The bytes that hexadecimal digits stand for.
inline std::vector<std::byte> bytes_of_hex(const std::string& digits) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

/// `values` of `type` as they go over the wire.
template <class Value>
std::string packed(BasicType type, Format format, const std::vector<Value>& values) {
  const ConstBuffer buffer{reinterpret_cast<const std::byte*>(values.data()), values.size(),
                           &TypeLayout::basic(type)};
  PackCursor cursor(buffer, format);
  std::vector<std::byte> out(cursor.total());
  const auto size = cursor.pack(out);
  if (!size) return size.error().text;
  EXPECT_EQ(*size, out.size());
  return hex(out);
}

/// The values of `type` that a stream holds.
template <class Value>
std::vector<Value> unpacked(BasicType type, Format format, const std::string& digits) {
  const auto stream = bytes_of_hex(digits);
  std::vector<Value> values(stream.size() / element_size(type, format));
  UnpackCursor cursor(
      {reinterpret_cast<std::byte*>(values.data()), values.size(), &TypeLayout::basic(type)},
      format);
  const auto stored = cursor.unpack(stream);
  EXPECT_TRUE(stored.ok()) << stored.error().text;
  return values;
}

}  // namespace impishim::wire
