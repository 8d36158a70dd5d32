// SPDX-License-Identifier: Apache-2.0
/// Communicators that windows and files have for themselves.
#pragma once

#include <mpi.h>

#include "shim/job/communicator.hpp"

namespace impishim::shim {

struct Job;

/// Returns true if some member's system does not run this library, whose messages it would not
/// understand.
[[nodiscard]] bool has_foreign_members(const Job& job, const Communicator& communicator);

/// Makes a communicator with the members of `parent` and an error handler that returns codes. All
/// members call it. Returns a code that has been raised on `parent`.
[[nodiscard]] int make_own_communicator(Job& job, Communicator& parent, const char* function,
                                        MPI_Comm* made);

}  // namespace impishim::shim
