// SPDX-License-Identifier: Apache-2.0
/// Errors at the MPI face: codes with a text of their own, raised through an object's error
/// handler.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <string_view>

#include "wire/base/result.hpp"

namespace impishim::shim {

/// Makes an error code of `error_class` whose MPI_Error_string is "MPI_X: text" and raises it
/// through the error handler of `comm` (a user's handle, also a spanning one): MPI_ERRORS_ARE_FATAL
/// prints the text and ends the job in every system, MPI_ERRORS_RETURN returns the code, user
/// handlers see the user's handle. Returns the code. MPI-3.1 8.3.
int raise(MPI_Comm comm, int error_class, std::string_view function, std::string_view text);

/// An error handler of MPI's own, which nobody frees.
[[nodiscard]] bool is_predefined(MPI_Errhandler handler);

/// Returns whether errors on `comm`, raised through its error handler, end the job.
[[nodiscard]] bool ends_job(MPI_Comm comm);

/// Raises a code that exists already; `text` is for the handler that ends the job.
int raise_code(MPI_Comm comm, int code, std::string_view text);

/// The same for an Error from wire/ or collectives/.
int raise(MPI_Comm comm, std::string_view function, const Error& error);

/// A code for `error_class` with text, raised through no handler: for status arrays
/// (MPI_ERR_IN_STATUS).
[[nodiscard]] int error_code(int error_class, std::string_view function, std::string_view text);

/// What the vendor says to a code of its own.
[[nodiscard]] int vendor_error_class(int code);
[[nodiscard]] std::string vendor_error_text(int code);

/// Raises what the vendor returned, unraised, on a communicator that no user has: through the error
/// handler of `comm`, which is his. MPI_SUCCESS stays what it is.
int raise_hidden_error(MPI_Comm comm, int code);

/// The MPI error class for an error from below.
[[nodiscard]] int error_class_of(ErrorKind kind);

/// The text of a code made here, or nothing: a code of the vendor's.
[[nodiscard]] std::optional<std::string> own_error_text(int code);
/// The class of a code made here, or nothing.
[[nodiscard]] std::optional<int> own_error_class(int code);

/// Ends the job in all systems: prints `text` (if any), announces the abort to the other systems,
/// aborts the native job with `code`.
[[noreturn]] void end_job(int code, std::string_view text);

}  // namespace impishim::shim
