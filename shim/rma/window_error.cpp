// SPDX-License-Identifier: Apache-2.0
#include "shim/rma/window_error.hpp"

#include <string_view>

#include "shim/error/object_error.hpp"
#include "shim/vendor.hpp"
#include "wire/window/window_request.hpp"

namespace impishim::shim {

int raise_on_window(MPI_Win window, int error_class, std::string_view function,
                    std::string_view text) {
  return raise_through(window, vendor::Win_get_errhandler, vendor::Win_call_errhandler, error_class,
                       function, text);
}

int raise_status(MPI_Win window, wire::WindowStatus status, std::string_view function) {
  switch (status) {
    case wire::WindowStatus::kDone:
      return MPI_SUCCESS;
    case wire::WindowStatus::kOutOfRange:
      return raise_on_window(window, MPI_ERR_RMA_RANGE, function,
                             "a request since the last synchronisation has touched memory that its "
                             "target does not expose; it was not carried out");
    case wire::WindowStatus::kBadRequest:
      return raise_on_window(window, MPI_ERR_OP, function,
                             "the target cannot carry out a request since the last "
                             "synchronisation: its operation is not defined for its datatype, or "
                             "its elements overlap");
    case wire::WindowStatus::kNoMemory:
      return raise_on_window(window, MPI_ERR_NO_MEM, function,
                             "a target has no memory for the operands of a request");
    case wire::WindowStatus::kConversion:
      return raise_on_window(window, MPI_ERR_CONVERSION, function,
                             "a value does not fit the data representation between two systems");
    case wire::WindowStatus::kNoWindow:
      break;
  }
  return raise_on_window(window, MPI_ERR_WIN, function, "the target has no such window");
}

}  // namespace impishim::shim
