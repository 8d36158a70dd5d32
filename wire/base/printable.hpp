// SPDX-License-Identifier: Apache-2.0
/// Escaping of text from outside the library, so that it can be printed on a terminal or in one
/// line of a log.
#pragma once

#include <string>
#include <string_view>

namespace impishim {

/// Returns `text` with every character escaped that could move a terminal's cursor, end the line or
/// hide other text. These are control characters (as \n, \t, \x1b), bytes that are not UTF-8
/// (\xff), and Unicode's control and format characters (\u0085, \u202e). Takes at most `limit`
/// bytes of `text`; appends " ..." if there were more.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 1024);

}  // namespace impishim
