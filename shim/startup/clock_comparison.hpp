// SPDX-License-Identifier: Apache-2.0
/// The clocks of all processes that are traced, compared with that of the first of them.
#pragma once

#include "shim/job/job.hpp"

namespace impishim::shim {

/// Compares this process's clock, if the job has a trace. All processes of all systems that trace
/// must call it; a process waits for its turn. Does nothing if this system does not trace as a
/// whole, and stops when a system is lost or a collective of all processes was given up.
void compare_clocks(Job& job);

}  // namespace impishim::shim
