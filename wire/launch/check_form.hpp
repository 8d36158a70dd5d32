// SPDX-License-Identifier: Apache-2.0
/// impirun -check job.toml: a check for each system instead of its program.
#pragma once

#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/jobfile/job_file.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/plan/launch_plan.hpp"
#include "wire/launch/remote_start.hpp"

namespace impishim::launch {

/// Returns the command that checks a system of this machine. `line` has the options of the whole
/// check. System 0 prints the report of all.
[[nodiscard]] Result<LaunchPlan> plan_check(const CommandLine& line, const JobSystem& system,
                                            int client, const std::string& server);

/// Turns what the impirun of another machine is told into a check of `system` there.
[[nodiscard]] RemoteStart remote_check(RemoteStart start, const CommandLine& line,
                                       const JobSystem& system, int client,
                                       const std::string& server);

}  // namespace impishim::launch
