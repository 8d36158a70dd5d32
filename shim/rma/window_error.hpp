// SPDX-License-Identifier: Apache-2.0
/// Errors of one-sided communication, raised through a window's error handler.
#pragma once

#include <mpi.h>

#include <string_view>

#include "wire/window/window_request.hpp"

namespace impishim::shim {

/// Does what raise() of error/errors.hpp does, with the error handler of a window.
int raise_on_window(MPI_Win window, int error_class, std::string_view function,
                    std::string_view text);

/// Raises what became of a request, unless it is done. Returns the code.
int raise_status(MPI_Win window, wire::WindowStatus status, std::string_view function);

}  // namespace impishim::shim
