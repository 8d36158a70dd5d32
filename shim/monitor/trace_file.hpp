// SPDX-License-Identifier: Apache-2.0
/// The file of a process's trace (IMPISHIM_TRACE).
#pragma once

namespace impishim::shim {

struct Job;

/// Writes the trace of this process if there is one; later calls do nothing. Logs a warning on
/// failure. Any thread may call it.
void write_trace(const Job& job);

}  // namespace impishim::shim
