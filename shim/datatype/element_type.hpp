// SPDX-License-Identifier: Apache-2.0
/// The user's datatype behind an element type of collectives/, which knows no MPI type.
#pragma once

#include <mpi.h>

#include "collectives/core/data.hpp"
#include "shim/handle/handle_bits.hpp"

namespace impishim::shim {

[[nodiscard]] inline MPI_Datatype datatype_of(const collectives::ElementType& type) {
  return from_bits<MPI_Datatype>(type.native_handle);
}

}  // namespace impishim::shim
