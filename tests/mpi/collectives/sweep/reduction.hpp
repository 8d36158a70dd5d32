// SPDX-License-Identifier: Apache-2.0
/// The operations of reductions, and their results by serial computation.
#pragma once

#include "tests/mpi/collectives/sweep/operation.hpp"

namespace sweep {

/// Combines `items` items: right = left op right. User operations work on two 32-bit numbers.
void combine(const Layout& layout, std::size_t items, Op op, const Dense& left, Dense& right);

/// MPI_Op_create for kUserSum or kUserAffine.
MPI_Op create_user_operation(Op op);

}  // namespace sweep
