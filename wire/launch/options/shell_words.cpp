// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/options/shell_words.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::launch {

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char each = text[at];
    const bool space = each == ' ' || each == '\t' || each == '\n' || each == '\r';
    if (quote == 0 && space) {
      if (word) words.push_back(*word);
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    if (quote == 0 && (each == '\'' || each == '"')) {
      quote = each;
    } else if (each == quote) {
      quote = 0;
    } else if (each == '\\' && quote != '\'' && at + 1 < text.size()) {
      *word += text[++at];
    } else {
      *word += each;
    }
  }
  if (quote != 0)
    return Error{ErrorKind::kConfiguration, fmt::format("a quote ({}) is not closed", quote)};
  if (word) words.push_back(*word);
  return words;
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string result = "'";
  for (const char each : word) {
    if (each == '\'') {
      result += "'\\''";
    } else {
      result += each;
    }
  }
  return result + "'";
}

std::string shell_command(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += shell_word(word);
  }
  return text;
}

}  // namespace impishim::launch
