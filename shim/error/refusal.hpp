// SPDX-License-Identifier: Apache-2.0
/// Visible errors for functions that this library does not support yet.
///
/// A refusal is an ordinary error: a code with a text, raised through an error handler. Programs
/// that use MPI_ERRORS_RETURN rarely check codes and crash later, elsewhere. The first refusal of
/// each function in a process is therefore also printed on standard error, unless the error handler
/// prints it and ends the job.
#pragma once

#include <mpi.h>

#include <string_view>

namespace impishim::shim {

/// Raises MPI_ERR_UNSUPPORTED_OPERATION through the error handler of `comm` for a function that
/// does not support spanning communicators yet. Returns the code.
int refuse(MPI_Comm comm, std::string_view function);

/// Does the same for a specific reason: `text` names cause and remedy.
int refuse(MPI_Comm comm, std::string_view function, std::string_view text);

/// Raises MPI_ERR_GROUP through the error handler of MPI_COMM_WORLD for a function of the vendor's
/// that received a group with processes of other systems. Returns the code.
int refuse_group(std::string_view function);

/// Raises MPI_ERR_UNSUPPORTED_OPERATION through the error handler of MPI_COMM_WORLD for a function
/// that a joined job never supports. `reason` comes from functions.txt. Returns the code.
int refuse_joined(std::string_view function, std::string_view reason);

}  // namespace impishim::shim
