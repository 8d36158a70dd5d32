// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "shim/job/job.hpp"

namespace impishim::shim {

/// Cancels a receive whose send could not be started, and waits for it.
void cancel_receive(Job& job, MPI_Request* request);

}  // namespace impishim::shim
