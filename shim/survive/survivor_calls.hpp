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

}  // namespace impishim::shim
