// SPDX-License-Identifier: Apache-2.0
/// Completion of single requests of every kind.
#pragma once

#include <mpi.h>

#include "shim/job/job.hpp"

namespace impishim::shim {

struct TestResult {
  bool done = false;
  int code = MPI_SUCCESS;  ///< not raised yet if it was made here
};

/// Does what MPI_Test does, without making progress in the engine: completes `*handle` if it is
/// done, as MPI_Wait would. Null and inactive handles are done.
[[nodiscard]] TestResult test_handle(Job& job, MPI_Request* handle, MPI_Status* status);

/// Returns the communicator whose error handler an error of this request goes to; must be called
/// before the request ends.
[[nodiscard]] MPI_Comm comm_of(MPI_Request request);

}  // namespace impishim::shim
