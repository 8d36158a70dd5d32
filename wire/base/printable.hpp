/// Text of other origin, made safe to print on a terminal and to put into one line of a log.
#pragma once

#include <string>
#include <string_view>

namespace impishim {

/// Returns `text` with everything escaped that could move a terminal's cursor, end the line or hide
/// what stands beside it: control characters (as \n, \t, \x1b), bytes that are no UTF-8 (\xff), and
/// Unicode's controls (\u0085, \u202e). At most `limit` bytes of `text` are taken; " ..." follows
/// if there were more.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 1024);

}  // namespace impishim
