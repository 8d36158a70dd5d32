// SPDX-License-Identifier: Apache-2.0
/// Errors of files, raised through a file's error handler.
#pragma once

#include <mpi.h>

#include <string_view>

#include "wire/file/file_status.hpp"

namespace impishim::shim {

/// Does what raise() of error/errors.hpp does, with the error handler of a file. MPI_FILE_NULL has
/// the handler for files that could not be opened.
int raise_on_file(MPI_File file, int error_class, std::string_view function, std::string_view text);

/// Raises what became of an operation, unless it is done. Returns the code.
int raise_file_status(MPI_File file, wire::FileStatus status, std::string_view function);

/// Returns the class of a status, and the status of one of the vendor's codes.
[[nodiscard]] int error_class_of(wire::FileStatus status);
[[nodiscard]] wire::FileStatus file_status_of_code(int code);

}  // namespace impishim::shim
