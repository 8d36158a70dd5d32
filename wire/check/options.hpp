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
  std::string job_file;        ///< instead of a server and a system: all systems of a job file
  std::int32_t client = 0;     ///< number of this system
  std::int32_t processes = 1;  ///< -np: that this system is to have
  bool json = false;
  /// -part: another system's check prints the report of all, once all have met.
  bool part = false;
  bool help = false;
};

/// Returns the command line for the check of one system.
[[nodiscard]] std::vector<std::string> check_words(const CheckOptions& options);

/// Parses the words behind `-check`. -option and --option are equivalent. Fails with
/// kConfiguration; the text says how to correct the command.
[[nodiscard]] Result<CheckOptions> parse_check_options(const std::vector<std::string>& words);

/// Returns the text for -help.
[[nodiscard]] std::string check_help();

}  // namespace impishim::check
