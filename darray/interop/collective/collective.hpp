// SPDX-License-Identifier: Apache-2.0
/// The protocol's rules that concern all processes, asked of all of them. The only part of this
/// folder that communicates, and it does so only in these calls, which all processes of the
/// communicator make (DAP-09).
#pragma once

#include <mpi.h>

#include <span>
#include <vector>

#include "darray/interop/dap/export.hpp"

namespace impishim::darray::dap {

/// All processes' pieces, in rank order, on every process. Cost: one all-gather of what the
/// dictionaries hold (a few words for each axis, and the labels of 'u' axes). Error kMpi: a call
/// failed; kUnsupported: more than 2^31 - 1 words.
std::vector<ProcessPiece> gather_pieces(MPI_Comm communicator, const ProcessPiece& mine);

/// check_processes() over the communicator; every process has the same answer.
Violations check_collectively(MPI_Comm communicator, const ProcessPiece& mine, Level level,
                              bool replicated = false);

/// distribution_of() over the communicator; every process has the same answer or throws the same
/// Error.
DistributionPtr import_distribution(MPI_Comm communicator, const ProcessPiece& mine, Level level,
                                    bool replicated = false);

}  // namespace impishim::darray::dap
