// SPDX-License-Identifier: Apache-2.0
/// Statuses of operations that the vendor did not complete. Nothing of MPI_Status but its three
/// public fields is assumed.
#pragma once

#include <mpi.h>

#include "shim/job/communicator.hpp"
#include "wire/engine/operation.hpp"

namespace impishim::shim {

/// MPI-3.1 3.7.3: the empty status, and that of MPI_PROC_NULL (source MPI_PROC_NULL). `status` may
/// be MPI_STATUS_IGNORE in all of these.
void set_empty_status(MPI_Status* status, int source);
/// From a message of another system.
void set_remote_status(MPI_Status* status, const wire::Envelope& envelope);
/// All but the user's MPI_ERROR field, which calls that return one status must not touch.
void copy_status(MPI_Status* status, const MPI_Status& from);
/// A native source in `status` becomes the spanning rank.
void translate_source(const Communicator& communicator, MPI_Status& status);

}  // namespace impishim::shim
