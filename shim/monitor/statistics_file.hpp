// SPDX-License-Identifier: Apache-2.0
/// The file of statistics that a process writes at its end (IMPISHIM_STATS).
#pragma once

#include <string>

#include "wire/topology/job_map.hpp"

namespace impishim::shim {

class CallTimer;
struct Job;

/// Returns a text that is the same in all processes of a job, and another one in other jobs: a hash
/// of who its processes are.
[[nodiscard]] std::string name_of_job(const wire::JobMap& map);

/// Writes the statistics file if it is requested; `timer` may be null. Logs a warning on failure.
void write_statistics(Job& job, const CallTimer* timer);

}  // namespace impishim::shim
