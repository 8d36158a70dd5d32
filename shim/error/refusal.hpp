// SPDX-License-Identifier: Apache-2.0
/// What this library cannot do yet, told in a way that is not overlooked.
///
/// A refusal is an error like any other: a code with a text, raised through an error handler.
/// Programs under MPI_ERRORS_RETURN seldom look at codes and crash later, somewhere else. So the
/// first refusal of each function in a process is printed on standard error as well, unless the
/// error handler is about to print it and to end the job.
#pragma once

#include <mpi.h>

#include <string_view>

namespace impishim::shim {

/// Raises MPI_ERR_UNSUPPORTED_OPERATION through the error handler of `comm` for a function that
/// cannot act on a spanning communicator yet. Returns the code.
int refuse(MPI_Comm comm, std::string_view function);

/// The same for a reason of its own: `text` names cause and cure.
int refuse(MPI_Comm comm, std::string_view function, std::string_view text);

/// Raises MPI_ERR_GROUP through the error handler of MPI_COMM_WORLD for a function of the vendor's
/// that was given a group with processes of other systems. Returns the code.
int refuse_group(std::string_view function);

/// Raises MPI_ERR_UNSUPPORTED_OPERATION through the error handler of MPI_COMM_WORLD for a function
/// that a joined job never has; `reason` is that of functions.txt. Returns the code.
int refuse_joined(std::string_view function, std::string_view reason);

}  // namespace impishim::shim
