// SPDX-License-Identifier: Apache-2.0
/// Statuses of operations that the vendor did not complete. The code uses no fields of MPI_Status
/// but its three public ones.
#pragma once

#include <mpi.h>

#include "shim/job/communicator.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

/// Sets the empty status (MPI-3.1 3.7.3), or that of MPI_PROC_NULL (source MPI_PROC_NULL). `status`
/// may be MPI_STATUS_IGNORE in all of these functions.
void set_empty_status(MPI_Status* status, int source);
/// Sets the status of a message from another system.
void set_remote_status(MPI_Status* status, const wire::Envelope& envelope);
/// Copies all fields but the user's MPI_ERROR field, which calls that return one status must not
/// change.
void copy_status(MPI_Status* status, const MPI_Status& from);
/// Replaces a native source in `status` by the spanning rank.
void translate_source(const Communicator& communicator, MPI_Status& status);

}  // namespace impishim::shim
