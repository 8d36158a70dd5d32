// SPDX-License-Identifier: Apache-2.0
/// `impirun -check`: what would happen to a job, found out before it runs.
#pragma once

#include <string>
#include <vector>

namespace impishim::check {

/// The option that chooses this form of impirun; it must come first.
inline constexpr const char* kCheckOption = "-check";

/// Returns true if these words are a command for run_check().
[[nodiscard]] bool is_check(const std::vector<std::string>& words);

/// Joins the systems of a check as a job would join them, measures, and prints the report on
/// standard output. `words` begin with kCheckOption; `version` is that of impirun. Returns the exit
/// status: 0 if a job can run, 1 if not, 2 if the command is wrong.
[[nodiscard]] int run_check(const std::vector<std::string>& words, const std::string& version);

}  // namespace impishim::check
