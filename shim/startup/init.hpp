// SPDX-License-Identifier: Apache-2.0
/// Beginning and end of the joined job, for MPI_Init, MPI_Finalize and sessions.
#pragma once

#include <functional>

#include "shim/job/job.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// Held while a process model begins: two threads may make their first session at once.
[[nodiscard]] Mutex& initialisation_mutex();

/// Initialises the vendor's MPI by `initialise`, which returns its code, and joins the job if the
/// environment asks for it. Collective over the system. Returns that code; does not return if the
/// job cannot be joined. The caller holds initialisation_mutex().
[[nodiscard]] int initialise_and_join(const std::function<int()>& initialise);

/// Leaves the job and finalises the vendor's MPI. Collective over the job: returns when all
/// processes are inside and all traffic is over. Returns MPI_SUCCESS, or an error code that has
/// been raised and with which the job is not left.
[[nodiscard]] int leave_and_finalise(Job& job);

}  // namespace impishim::shim
