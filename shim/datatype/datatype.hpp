// SPDX-License-Identifier: Apache-2.0
/// MPI datatypes as the wire needs them.
#pragma once

#include <mpi.h>

#include <memory>

#include "wire/base/result.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::shim {

/// `layout` is valid while `keep_alive` is held; for predefined types, and forever, if `keep_alive`
/// is null.
struct DatatypeLayout {
  const wire::TypeLayout* layout = nullptr;
  std::shared_ptr<const wire::TypeLayout> keep_alive;
};

/// The flattened form of any committed or predefined datatype: found in a few nanoseconds for
/// predefined types; built once from MPI_Type_get_envelope and MPI_Type_get_contents and cached as
/// an attribute on the datatype for derived ones, where the attribute's delete function frees it.
/// Error: a type that no layout can be made of, with its combiner's name.
[[nodiscard]] Result<DatatypeLayout> layout_of(MPI_Datatype datatype);
/// The same of one that is known not to be predefined.
[[nodiscard]] Result<DatatypeLayout> derived_layout(MPI_Datatype datatype);

/// Releases the keyval. Call it in MPI_Finalize, before the vendor's.
void release_datatype_cache();

/// `count` elements of `datatype` at `address` (MPI_BOTTOM allowed), described for the wire.
[[nodiscard]] Result<wire::ConstBuffer> const_buffer(const void* address, std::int64_t count,
                                                     MPI_Datatype datatype);
[[nodiscard]] Result<wire::MutableBuffer> mutable_buffer(void* address, std::int64_t count,
                                                         MPI_Datatype datatype);

}  // namespace impishim::shim
