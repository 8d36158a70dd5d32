// SPDX-License-Identifier: Apache-2.0
/// MPI_Op for collectives/: predefined and user operations on the user's own datatype handle.
#pragma once

#include <mpi.h>

#include "collectives/core/data.hpp"

namespace impishim::shim {

/// Returns false if a predefined operation has no meaning for this datatype (MPI-3.1 5.9.2) and
/// both vendors say so. Each process asks before it communicates: otherwise only those that combine
/// would notice. True of user operations, and in doubt.
[[nodiscard]] bool fits(MPI_Op op, MPI_Datatype datatype);

class OpReduction final : public collectives::Reduction {
 public:
  /// Both handles are valid.
  OpReduction(MPI_Op op, MPI_Datatype datatype);

  /// By MPI_Reduce_local, so that the arithmetic is the vendor's, or the user's function.
  void combine(const std::byte* in, std::byte* inout, std::uint64_t count) const override;

  /// Where the first error code of a combination will be, or MPI_SUCCESS.
  [[nodiscard]] const int* code() const { return &first_code_; }

 private:
  /// As many as an int counts.
  void combine_some(const std::byte* in, std::byte* inout, std::uint64_t count) const;

  MPI_Op op_;
  MPI_Datatype datatype_;
  mutable int first_code_ = MPI_SUCCESS;
};

}  // namespace impishim::shim
