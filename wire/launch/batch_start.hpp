// SPDX-License-Identifier: Apache-2.0
/// Systems that run in a batch job: impirun submits a script to sbatch or qsub, and stays until the
/// job has ended. The script runs `impirun -remote-start` in the job's allocation, and reads the
/// rest from a file that its owner alone can read.
#pragma once

#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/options/section.hpp"
#include "wire/launch/plan/launch_plan.hpp"

namespace impishim::launch {

/// Returns the words that submit a batch job, if the section's launcher, or else IMPISHIM_MPIEXEC,
/// is sbatch or qsub. Returns no word for any other launcher.
[[nodiscard]] std::vector<std::string> batch_command(const Section& section);

/// Returns the command that submits a batch job for a section and waits for its end. `submit` has
/// the words of batch_command(); the section's words for the launcher follow them. Fails with
/// kConfiguration if a command is not found, and with kSystem if a file cannot be written.
[[nodiscard]] Result<LaunchPlan> plan_batch(const LaunchRequest& request,
                                            const std::vector<std::string>& submit);

/// Returns plan_batch() or plan_launch(), as the section's launcher requires.
[[nodiscard]] Result<LaunchPlan> plan_system(const LaunchRequest& request);

}  // namespace impishim::launch
