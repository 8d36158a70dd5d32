// SPDX-License-Identifier: Apache-2.0
/// Words as a shell reads and writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// Returns the words of `text`. Spaces separate words; '...', "..." and a backslash protect them,
/// as in a shell. Nothing else is special. Fails with kConfiguration if a quote is not closed.
[[nodiscard]] Result<std::vector<std::string>> split_words(std::string_view text);

/// Returns `word` in a form that a shell reads as this one word.
[[nodiscard]] std::string shell_word(std::string_view word);

/// Returns the words as a command for a shell.
[[nodiscard]] std::string shell_command(const std::vector<std::string>& words);

}  // namespace impishim::launch
