// SPDX-License-Identifier: Apache-2.0
/// Checks of the protocol's rules that concern all processes. This is the only part of the folder
/// that communicates. It communicates only in these calls, which all processes of the communicator
/// make (DAP-09).
#pragma once

#include <mpi.h>

#include <span>
#include <vector>

#include "darray/interop/dap/export.hpp"

namespace impishim::darray::dap {

/// Returns the pieces of all processes, in rank order, on every process. Cost: one all-gather of
/// the dictionaries' content, which is a few words for each axis, and the labels of 'u' axes.
/// Throws Error(kMpi) if an MPI call fails. Throws Error(kUnsupported) if there are more than 2^31
/// - 1 words.
std::vector<ProcessPiece> gather_pieces(MPI_Comm communicator, const ProcessPiece& mine);

/// Runs check_processes() for the communicator. Every process gets the same result.
Violations check_collectively(MPI_Comm communicator, const ProcessPiece& mine, Level level,
                              bool replicated = false);

/// Runs distribution_of() for the communicator. Every process gets the same result, or throws the
/// same Error.
DistributionPtr import_distribution(MPI_Comm communicator, const ProcessPiece& mine, Level level,
                                    bool replicated = false);

}  // namespace impishim::darray::dap
