// SPDX-License-Identifier: Apache-2.0
/// Requests to and from MPI_PROC_NULL: complete at once.
#pragma once

#include "shim/request/request.hpp"

namespace impishim::shim {

[[nodiscard]] const RequestKind& null_send();
[[nodiscard]] const RequestKind& null_receive();

}  // namespace impishim::shim
