// SPDX-License-Identifier: Apache-2.0
#include "shim/error/session_error.hpp"  // IWYU pragma: keep

#ifdef IMPISHIM_HAVE_MPI_Session_init
#include <string_view>

#include "shim/error/object_error.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {

int raise(MPI_Session session, std::string_view function, int error_class, std::string_view text) {
  return raise_through(session, vendor::Session_get_errhandler, vendor::Session_call_errhandler,
                       error_class, function, text);
}

}  // namespace impishim::shim
#endif
