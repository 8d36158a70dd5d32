// SPDX-License-Identifier: Apache-2.0
/// Conversion of MPI datatypes to the layouts that wire/ uses.
#pragma once

#include <mpi.h>

#include <memory>

#include "wire/base/result.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::shim {

/// A layout and its owner. `layout` is valid while `keep_alive` is held. If `keep_alive` is null,
/// as for predefined types, it is valid forever.
struct DatatypeLayout {
  const wire::TypeLayout* layout = nullptr;
  std::shared_ptr<const wire::TypeLayout> keep_alive;
};

/// Returns the flattened form of any committed or predefined datatype. Takes a few nanoseconds for
/// predefined types. For derived types it is built once from MPI_Type_get_envelope and
/// MPI_Type_get_contents, and cached as an attribute on the datatype. The attribute's delete
/// function frees it. Error: the type has no layout; the error names its combiner.
[[nodiscard]] Result<DatatypeLayout> layout_of(MPI_Datatype datatype);
/// Does the same for a datatype that is known not to be predefined.
[[nodiscard]] Result<DatatypeLayout> derived_layout(MPI_Datatype datatype);

/// Releases the keyval. Must be called in MPI_Finalize, before the vendor's.
void release_datatype_cache();

/// These describe `count` elements of `datatype` at `address` (MPI_BOTTOM allowed) for wire/.
[[nodiscard]] Result<wire::ConstBuffer> const_buffer(const void* address, std::int64_t count,
                                                     MPI_Datatype datatype);
[[nodiscard]] Result<wire::MutableBuffer> mutable_buffer(void* address, std::int64_t count,
                                                         MPI_Datatype datatype);

}  // namespace impishim::shim
