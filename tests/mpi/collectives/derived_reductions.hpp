// SPDX-License-Identifier: Apache-2.0
/// User operations on derived datatypes, for the program reductions.
#pragma once

#include <mpi.h>

namespace impishim_test {

/// Reduce, Allreduce, Reduce_scatter, Scan, Exscan and Reduce_local by an operation that commutes
/// and one that does not, on datatypes with gaps and with data before their origin: results are
/// right, and no byte changes that is not data of a result.
void check_derived_types(MPI_Comm comm);

/// Reduce_scatter of more elements than an int counts. They are empty, so that only their number is
/// at stake. Does nothing on communicators of one system: that is the vendor's affair.
void check_many_elements(MPI_Comm comm);

}  // namespace impishim_test
