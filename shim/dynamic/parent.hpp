// SPDX-License-Identifier: Apache-2.0
/// What a spawned process does at its start.
#pragma once

#include "shim/job/job.hpp"

namespace impishim::shim {

/// Connects the job with the processes that have spawned it, if there are any (IMPISHIM_PARENT).
/// Collective over the joined world. Returns MPI_SUCCESS or an error code that has been raised.
[[nodiscard]] int connect_with_parent(Job& job);

}  // namespace impishim::shim
