// SPDX-License-Identifier: Apache-2.0
// Patches as derived datatypes. Not for users.
#pragma once

#include <mpi.h>

#include "darray/local/selection.hpp"
#include "darray/schedule/element.hpp"

namespace impishim::darray {

/// The committed datatype of a patch's elements, in their order; the patch's offset is not part of
/// it.
class PatchType {
 public:
  PatchType() = default;
  /// Errors: kMpi.
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

/// The one patch of a selection whose elements lie side by side in runs that are worth a datatype,
/// none of them twice; else null.
[[nodiscard]] const Patch* patch_of_long_runs(const Selection& elements, const Element& element);

}  // namespace impishim::darray
