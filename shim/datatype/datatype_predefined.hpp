// SPDX-License-Identifier: Apache-2.0
/// The basic elements of each predefined datatype.
#pragma once

#include <mpi.h>

#include "wire/data/type_layout.hpp"

namespace impishim::shim {

/// Returns the layout of a predefined datatype, or null for any other handle. Takes a few
/// nanoseconds; the first call builds the table.
[[nodiscard]] const wire::TypeLayout* predefined_layout(MPI_Datatype datatype);

}  // namespace impishim::shim
