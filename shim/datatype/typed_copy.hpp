// SPDX-License-Identifier: Apache-2.0
/// A copy of a user's data in memory of our own, in the same datatype.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::shim {

class TypedCopy {
 public:
  /// Copies `count` elements of `datatype` at `address`; gaps of the datatype stay unset.
  [[nodiscard]] static Result<TypedCopy> of(const void* address, std::int64_t count,
                                            MPI_Datatype datatype);
  /// Where the copy's elements count from: what a call takes as buffer.
  [[nodiscard]] void* address() { return bytes_.data() + origin_; }

 private:
  std::vector<std::byte> bytes_;
  std::ptrdiff_t origin_ = 0;
};

}  // namespace impishim::shim
