// SPDX-License-Identifier: Apache-2.0
#include "wire/base/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace impishim {
namespace {

struct Character {
  std::size_t size = 0;  ///< in bytes; 0: not UTF-8
  std::uint32_t code = 0;
};

/// Returns the first character of `text`, which is not empty (RFC 3629).
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  std::uint32_t code = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool longer_than_needed = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  if (surrogate || longer_than_needed || code > 0x10ffff) return {};
  return {size, code};
}

/// Returns true for terminal controls, line ends, and marks that reverse or hide text. In Unicode
/// these are Cc, Zl, Zp, and the format characters for direction and zero width.
bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x2069) || code == 0xfeff;
}

void append_escaped(std::string& out, std::uint32_t code) {
  switch (code) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      if (code < 0x80)
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", code);
      else
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  }
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string_view rest = text.substr(0, limit);
  std::string out;
  out.reserve(rest.size());
  while (!rest.empty()) {
    const Character next = first_character(rest);
    if (next.size == 0) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}",
                     static_cast<unsigned char>(rest.front()));
    } else if (is_control(next.code)) {
      append_escaped(out, next.code);
    } else {
      out += rest.substr(0, next.size);
    }
    rest.remove_prefix(std::max<std::size_t>(next.size, 1));
  }
  if (text.size() > limit) out += " ...";
  return out;
}

}  // namespace impishim
