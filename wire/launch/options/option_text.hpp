// SPDX-License-Identifier: Apache-2.0
/// Texts made from the definitions of the options: -help, the manual page, completions of shells.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace impishim::launch {

/// An option as texts show it.
struct OptionText {
  std::string name;                  ///< the one spelling that texts use, without dashes
  std::vector<std::string> aliases;  ///< further names, without dashes
  std::string values;                ///< "N", "NAME VALUE"; empty for a flag
  std::string default_text;          ///< empty if there is nothing to say
  std::string text;
  std::string group;
};

/// Returns the name of an option that texts use, without dashes.
[[nodiscard]] std::string main_name(const CLI::Option& option);

/// Returns the number of words that follow an option.
[[nodiscard]] std::size_t value_count(const CLI::Option& option);

/// Returns all options in the order of their definition.
[[nodiscard]] std::vector<OptionText> option_texts();

/// Returns the text of -help.
[[nodiscard]] std::string help_text();

/// Returns the manual page impirun(1) in the form of man(7).
[[nodiscard]] std::string manual_page(const std::string& version);

/// Returns the completion for bash, for use with bash-completion or by itself.
[[nodiscard]] std::string bash_completion();

/// Returns the completion for zsh, a file _impirun of its function path.
[[nodiscard]] std::string zsh_completion();

}  // namespace impishim::launch
