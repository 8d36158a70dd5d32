// SPDX-License-Identifier: Apache-2.0
/// Derived datatypes for patches. Not for users.
#pragma once

#include <mpi.h>

#include "darray/communicator/element.hpp"
#include "darray/local/selection.hpp"

namespace impishim::darray {

/// The committed datatype of a patch's elements, in their order. The patch's offset is not part of
/// the type.
class PatchType {
 public:
  PatchType() = default;
  /// Throws Error(kMpi) if an MPI call fails.
  PatchType(const Patch& patch, const Element& element);
  ~PatchType();
  PatchType(PatchType&& other) noexcept;
  PatchType& operator=(PatchType&& other) noexcept;

  [[nodiscard]] explicit operator bool() const { return type_ != MPI_DATATYPE_NULL; }
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  void nest(int count, int block, MPI_Aint stride, MPI_Datatype inner);

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Returns the single patch of a selection if its elements lie in runs that are long enough for a
/// datatype, and none occurs twice. Returns null otherwise.
[[nodiscard]] const Patch* patch_of_long_runs(const Selection& elements, const Element& element);

}  // namespace impishim::darray
