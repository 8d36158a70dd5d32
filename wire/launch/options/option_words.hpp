// SPDX-License-Identifier: Apache-2.0
/// The words of a command line before the program's name, taken apart into options.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/options/option_definitions.hpp"

namespace impishim::launch {

/// The options of one section, parsed and checked.
struct ParsedOptions {
  OptionValues values;
  std::size_t program = 0;         ///< position of the word behind the options
  std::vector<std::string> given;  ///< the names of the options, without dashes, in their order
};

/// Returns the name of the option in `word` without its dashes, or nothing if it is not an option.
/// IMPI's command line uses one dash (IMPI 2.2), other programs use two.
[[nodiscard]] std::optional<std::string> option_name(const std::string& word);

/// Returns true if impirun has an option of this name.
[[nodiscard]] bool is_option(const std::string& name);

/// Parses the options that begin at word `begin`. Fails with kConfiguration.
[[nodiscard]] Result<ParsedOptions> parse_options(const std::vector<std::string>& words,
                                                  std::size_t begin);

/// Returns the group of an option of that name (kProcessGroup and so on).
[[nodiscard]] std::string group_of(const std::string& name);

}  // namespace impishim::launch
