// SPDX-License-Identifier: Apache-2.0
/// A joined process that can be asked while it runs (IMPISHIM_MONITOR), or that writes statistics
/// at its end (IMPISHIM_STATS).
#pragma once

#include "shim/job/job.hpp"
#include "shim/startup/session.hpp"

namespace impishim::shim {

/// Begins to observe calls if one of the two variables asks for it, and starts the thread that
/// answers if IMPISHIM_MONITOR does. To be called when the job is published, by the thread that
/// initialises MPI.
void start_monitoring(Job& job, const JobSettings& settings);
/// Ends the thread and the recording. Calls that threads are in stay valid.
void stop_monitoring(Job& job);

}  // namespace impishim::shim
