// SPDX-License-Identifier: Apache-2.0
/// `impirun -check`: what would happen to a job, found out before it runs.
#pragma once

#include <string>
#include <vector>

#include "wire/check/options.hpp"

namespace impishim::check {

/// The option that chooses this form of impirun; it must come first.
inline constexpr const char* kCheckOption = "-check";

/// Returns true if these words are a command for run_check().
[[nodiscard]] bool is_check(const std::vector<std::string>& words);

/// Joins the systems of a check as a job would join them, measures, and prints the report on
/// standard output. `version` is that of impirun. Returns the exit status: 0 if a job can run, 1 if
/// not. With options.part it prints only what has kept this system from meeting the others, and
/// returns 0 if it has met them.
[[nodiscard]] int run_check(const CheckOptions& options, const std::string& version);

}  // namespace impishim::check
