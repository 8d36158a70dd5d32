// SPDX-License-Identifier: Apache-2.0
/// The file of statistics that a process writes at its end (IMPISHIM_STATS).
#pragma once

namespace impishim::shim {

class CallTimer;
struct Job;

/// Writes the statistics file if it is requested; `timer` may be null. Logs a warning on failure.
void write_statistics(Job& job, const CallTimer* timer);

}  // namespace impishim::shim
