// SPDX-License-Identifier: Apache-2.0
/// Errors of functions that take a session (MPI-4.0 9.3, 11.3).
#pragma once

#include <mpi.h>

#include <string_view>

#include "shim/entry_points.hpp"

#ifdef IMPISHIM_HAVE_MPI_Session_init
namespace impishim::shim {

/// Raises an error code of `error_class` with this text through the error handler of `session`.
/// Returns the code.
int raise(MPI_Session session, std::string_view function, int error_class, std::string_view text);

}  // namespace impishim::shim
#endif
