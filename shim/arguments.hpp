/// Checks of the arguments of calls on spanning communicators that the vendor does not see.
#pragma once

#include <mpi.h>

#include "shim/communicator.hpp"
#include "shim/job.hpp"

namespace impishim::shim {

/// Destination, tag and count of a send. MPI_SUCCESS, or the code that was raised.
[[nodiscard]] int check_send(const Job& job, const Communicator& communicator, const char* function, int count,
                             MPI_Datatype datatype, int dest, int tag);
/// Source (MPI_ANY_SOURCE allowed), tag (MPI_ANY_TAG allowed) and count of a receive or probe.
[[nodiscard]] int check_receive(const Job& job, const Communicator& communicator, const char* function, int count,
                                MPI_Datatype datatype, int source, int tag);

}  // namespace impishim::shim
