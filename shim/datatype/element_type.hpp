// SPDX-License-Identifier: Apache-2.0
/// Conversion from an element type of collectives/, which does not use MPI types, to the user's
/// datatype.
#pragma once

#include <mpi.h>

#include "collectives/core/data.hpp"
#include "shim/handle/handle_bits.hpp"

namespace impishim::shim {

[[nodiscard]] inline MPI_Datatype datatype_of(const collectives::ElementType& type) {
  return from_bits<MPI_Datatype>(type.native_handle);
}

}  // namespace impishim::shim
