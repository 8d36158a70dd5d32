// SPDX-License-Identifier: Apache-2.0
/// Which basic elements each predefined datatype is made of.
#pragma once

#include <mpi.h>

#include "wire/data/type_layout.hpp"

namespace impishim::shim {

/// The layout of a predefined datatype, or null for any other handle. A few nanoseconds; the table
/// is built at the first call.
[[nodiscard]] const wire::TypeLayout* predefined_layout(MPI_Datatype datatype);

}  // namespace impishim::shim
