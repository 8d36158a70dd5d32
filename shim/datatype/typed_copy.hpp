// SPDX-License-Identifier: Apache-2.0
/// A copy of a user's data in memory of this library, in the same datatype.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::shim {

class TypedCopy {
 public:
  /// Copies `count` elements of `datatype` at `address`. Gaps of the datatype stay uninitialised.
  [[nodiscard]] static Result<TypedCopy> of(const void* address, std::int64_t count,
                                            MPI_Datatype datatype);
  /// Returns the address to pass as buffer to a call: the origin of the copy's elements.
  [[nodiscard]] void* address() { return bytes_.data() + origin_; }

 private:
  std::vector<std::byte> bytes_;
  std::ptrdiff_t origin_ = 0;
};

}  // namespace impishim::shim
