// SPDX-License-Identifier: Apache-2.0
/// What the vendors' own collectives cannot do. Calls on communicators that are the vendor's alone
/// (all of them, natively) leave it out, and say so; where the library does the work it is in.
#pragma once

#include "tests/mpi/collectives/sweep/operation.hpp"

namespace sweep {

/// Why the drafted call is not made on this communicator; null if it is. All members come to the
/// same answer.
const char* left_out(const Space& space, const Operation& operation, Form form);
/// Whether only plain datatypes are drawn on this communicator.
bool needs_plain_types(const Space& space);

}  // namespace sweep
