// SPDX-License-Identifier: Apache-2.0
/// Errors at the MPI interface: codes with their own text, raised through an object's error
/// handler.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <string_view>

#include "wire/base/result.hpp"

namespace impishim::shim {

/// Creates an error code of `error_class` whose MPI_Error_string is "MPI_X: text". Raises it
/// through the error handler of `comm`, a user's handle that may be spanning. MPI_ERRORS_ARE_FATAL
/// prints the text and ends the job in every system; MPI_ERRORS_RETURN returns the code; user
/// handlers receive the user's handle. Returns the code. MPI-3.1 8.3.
int raise(MPI_Comm comm, int error_class, std::string_view function, std::string_view text);

/// Returns true if `handler` is predefined by MPI, so that it must not be freed.
[[nodiscard]] bool is_predefined(MPI_Errhandler handler);

/// Returns true if errors on `comm`, raised through its error handler, end the job.
[[nodiscard]] bool ends_job(MPI_Comm comm);

/// Raises an existing code. `text` is used if the handler ends the job.
int raise_code(MPI_Comm comm, int code, std::string_view text);

/// Raises an Error from wire/ or collectives/ in the same way.
int raise(MPI_Comm comm, std::string_view function, const Error& error);

/// Returns a code for `error_class` with text that is not raised: for status arrays
/// (MPI_ERR_IN_STATUS).
[[nodiscard]] int error_code(int error_class, std::string_view function, std::string_view text);

/// These return the vendor's class and text of one of its codes.
[[nodiscard]] int vendor_error_class(int code);
[[nodiscard]] std::string vendor_error_text(int code);

/// Raises a code that the vendor returned on a hidden communicator without raising it. Uses the
/// error handler of `comm`, the user's communicator. Has no effect for MPI_SUCCESS.
int raise_hidden_error(MPI_Comm comm, int code);

/// The error classes of ULFM, the interface for survivors of failures. Where the vendor's MPI has
/// none they are numbers of include/impishim/ulfm.h, and MPI_Error_class tells MPI_ERR_OTHER.
[[nodiscard]] int proc_failed_class();
[[nodiscard]] int proc_failed_pending_class();
[[nodiscard]] int revoked_class();

/// Returns the code of an operation on a revoked communicator, which has not been raised.
[[nodiscard]] int revoked_code(std::string_view function);
/// Raises that.
int raise_revoked(MPI_Comm comm, std::string_view function);

/// Returns the MPI error class for an error from a lower layer.
[[nodiscard]] int error_class_of(ErrorKind kind);

/// Returns the text of a code of this library, or nothing for a code of the vendor.
[[nodiscard]] std::optional<std::string> own_error_text(int code);
/// Returns the class of a code of this library, or nothing for a code of the vendor. It may be a
/// class of ULFM that the vendor does not have.
[[nodiscard]] std::optional<int> own_error_class(int code);
/// Returns the class that the vendor's MPI has for a class.
[[nodiscard]] int vendor_class_of(int error_class);

/// Ends the job in all systems. Prints `text` unless it is empty, announces the abort to the other
/// systems, and aborts the native job with `code`.
[[noreturn]] void end_job(int code, std::string_view text);

}  // namespace impishim::shim
