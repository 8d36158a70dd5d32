// SPDX-License-Identifier: Apache-2.0
/// What an accumulate needs to know of MPI's datatypes and operations.
#pragma once

#include <mpi.h>

#include <optional>

#include "wire/window/element_operation.hpp"

namespace impishim::shim {

/// Returns the kind of the elements of a datatype: of a predefined one, or of the one predefined
/// type that a derived datatype consists of (MPI-4.0 12.3.4). Returns nothing if there is no such
/// type, or if this library has no operations for it.
[[nodiscard]] std::optional<wire::ElementKind> element_kind_of(MPI_Datatype datatype);

/// Returns a predefined operation of accumulates. Returns nothing for any other.
[[nodiscard]] std::optional<wire::ElementOperation> element_operation_of(MPI_Op op);

}  // namespace impishim::shim
