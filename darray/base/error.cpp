// SPDX-License-Identifier: Apache-2.0
#include "darray/base/error.hpp"

namespace impishim::darray::detail {

void raise(ErrorKind kind, fmt::string_view format, fmt::format_args arguments) {
  throw Error(kind, fmt::vformat(format, arguments));
}

}  // namespace impishim::darray::detail
