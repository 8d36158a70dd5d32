// SPDX-License-Identifier: Apache-2.0
#include "shim/error/session_error.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "shim/error/errors.hpp"
#include "shim/vendor.hpp"

#ifdef IMPISHIM_HAVE_MPI_Session_init
namespace impishim::shim {

int raise(MPI_Session session, std::string_view function, int error_class, std::string_view text) {
  const int code = error_code(error_class, function, text);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  const int got = vendor::Session_get_errhandler(session, &handler);
  if (got != MPI_SUCCESS) return got;
  if (handler == MPI_ERRORS_RETURN) return code;
  if (is_predefined(handler)) end_job(1, fmt::format("{}: {}", function, text));
  vendor::Errhandler_free(&handler);  // drops our reference
  vendor::Session_call_errhandler(session, code);
  return code;
}

}  // namespace impishim::shim
#endif
