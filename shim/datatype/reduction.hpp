// SPDX-License-Identifier: Apache-2.0
/// MPI_Op for collectives/: predefined and user operations on the user's own datatype handle.
#pragma once

#include <mpi.h>

#include "collectives/core/data.hpp"

namespace impishim::shim {

/// Returns false if a predefined operation is not defined for this datatype (MPI-3.1 5.9.2) and
/// both vendors reject it. Returns true for user operations and in doubtful cases. Each process
/// checks before it communicates; otherwise only the processes that combine would detect the error.
[[nodiscard]] bool fits(MPI_Op op, MPI_Datatype datatype);

class OpReduction final : public collectives::Reduction {
 public:
  /// Constructs a reduction. Both handles must be valid.
  OpReduction(MPI_Op op, MPI_Datatype datatype);

  /// Combines with MPI_Reduce_local, so the vendor or the user's function performs the arithmetic.
  void combine(const std::byte* in, std::byte* inout, std::uint64_t count) const override;

  /// Returns the address of the first error code of a combination, which is MPI_SUCCESS until an
  /// error occurs.
  [[nodiscard]] const int* code() const { return &first_code_; }

 private:
  /// Combines at most as many elements as an int can count.
  void combine_some(const std::byte* in, std::byte* inout, std::uint64_t count) const;

  MPI_Op op_;
  MPI_Datatype datatype_;
  mutable int first_code_ = MPI_SUCCESS;
};

}  // namespace impishim::shim
