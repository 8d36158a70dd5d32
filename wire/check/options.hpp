// SPDX-License-Identifier: Apache-2.0
/// The command line of `impirun -check`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::check {

struct CheckOptions {
  std::string server;          ///< address:port
  std::int32_t client = 0;     ///< number of this system
  std::int32_t processes = 1;  ///< -np: that this system is to have
  bool json = false;
  bool help = false;
};

/// Parses the words behind `-check`. -option and --option are equivalent. Fails with
/// kConfiguration; the text says how to correct the command.
[[nodiscard]] Result<CheckOptions> parse_check_options(const std::vector<std::string>& words);

/// Returns the text for -help.
[[nodiscard]] std::string check_help();

}  // namespace impishim::check
