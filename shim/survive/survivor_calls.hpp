// SPDX-License-Identifier: Apache-2.0
/// ULFM's functions on spanning communicators (include/impishim/ulfm.h). All return MPI_SUCCESS or
/// an error code that has been raised.
#pragma once

#include <mpi.h>

#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"

namespace impishim::shim {

[[nodiscard]] int acknowledge_failures(Job& job, Communicator& communicator);
[[nodiscard]] int acknowledged_group(Job& job, const Communicator& communicator, MPI_Group* failed);
[[nodiscard]] int revoke_communicator(Job& job, Communicator& communicator);
[[nodiscard]] int shrink(Job& job, Communicator& communicator, MPI_Comm* newcomm);
[[nodiscard]] int agree(Job& job, Communicator& communicator, int* flag);

// The same on communicators inside a system. As long as the system runs, none of its processes is
// lost. MPICH 4.0.2's own functions end the program ("Assertion failed in ch4_comm.c").
[[nodiscard]] int acknowledged_inside(MPI_Comm comm, MPI_Group* failed);
[[nodiscard]] int revoke_inside(MPI_Comm comm);
[[nodiscard]] int shrink_inside(MPI_Comm comm, MPI_Comm* newcomm);
[[nodiscard]] int agree_inside(MPI_Comm comm, int* flag);

}  // namespace impishim::shim
