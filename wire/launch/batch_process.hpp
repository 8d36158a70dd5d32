// SPDX-License-Identifier: Apache-2.0
/// The process that stands for a batch job, where impirun executes `impirun -batch-job`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::launch {

constexpr const char* kBatchOption = "-batch-job";

/// Returns the job's number in what sbatch or qsub prints: the first word that begins with a
/// digit, up to a semicolon. Returns an empty text if there is none.
[[nodiscard]] std::string batch_job_number(std::string_view printed);

/// Runs a command that submits a batch job and waits for its end; `words` has the command that
/// cancels a job, and then the submitting one. On SIGINT, SIGTERM or SIGHUP it cancels the job.
/// Returns the submitting command's exit status, or 128 and the signal's number. Fails with kSystem
/// if a process cannot be started, and with kConfiguration if words are missing.
[[nodiscard]] Result<int> run_batch_process(const std::vector<std::string>& words);

}  // namespace impishim::launch
