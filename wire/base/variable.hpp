// SPDX-License-Identifier: Apache-2.0
/// Parsing of numbers, and of numbers in environment variables.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "wire/base/result.hpp"

namespace impishim {

/// Returns `text` as a whole decimal number, or nothing if it is not one.
template <class Integer>
[[nodiscard]] std::optional<Integer> parse_number(const char* text) {
  Integer value{};
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || text == end) return std::nullopt;
  return value;
}

/// Reads the environment variable `name` into `value`; leaves `value` unchanged if the variable is
/// not set. Fails with kConfiguration if it is not a decimal number from `low` to `high`.
template <class Integer>
[[nodiscard]] Result<void> read_variable(const char* name, std::int64_t low, std::int64_t high,
                                         Integer& value) {
  const char* text = secure_getenv(name);
  if (text == nullptr) return {};
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number < low || *number > high) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("{}={} must be a number from {} to {}", name, text, low, high)};
  }
  value = static_cast<Integer>(*number);
  return {};
}

}  // namespace impishim
