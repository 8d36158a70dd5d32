// SPDX-License-Identifier: Apache-2.0
/// Errors of objects other than communicators: windows, files, sessions (MPI-4.0 9.3).
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <string_view>

#include "shim/error/errors.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {

/// Does what raise() of errors.hpp does, through the error handler of `object`: `get` returns it,
/// and `call` calls it. Returns the code.
template <class Object>
int raise_through(Object object, int (*get)(Object, MPI_Errhandler*), int (*call)(Object, int),
                  int error_class, std::string_view function, std::string_view text) {
  const int code = error_code(error_class, function, text);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (get(object, &handler) != MPI_SUCCESS || handler == MPI_ERRORS_RETURN) return code;
  if (is_predefined(handler)) end_job(1, fmt::format("{}: {}", function, text));
  vendor::Errhandler_free(&handler);  // drops our reference
  call(object, code);
  return code;
}

}  // namespace impishim::shim
