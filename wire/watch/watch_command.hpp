// SPDX-License-Identifier: Apache-2.0
/// The forms of impirun that look into a running job: -why and -top.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace impishim::wire {

/// Exit status of `impirun -why` for a job in which something cannot end.
constexpr int kStuckStatus = 3;

/// Runs the form that the words of the command line ask for, and prints to standard output. Returns
/// the exit status: 0; 1 if the job cannot be asked; 2 for wrong words; kStuckStatus. Returns
/// nothing if the words ask for another form.
[[nodiscard]] std::optional<int> run_watch_command(const std::vector<std::string>& words);

}  // namespace impishim::wire
