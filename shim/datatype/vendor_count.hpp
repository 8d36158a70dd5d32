// SPDX-License-Identifier: Apache-2.0
/// Counts beyond an int, for the vendor's functions that take one.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace impishim::shim {

/// `count` elements of a type as an int of a datatype: the type itself where the count fits,
/// otherwise one element of a datatype made for it. The datatype lives as long as this object;
/// operations under way keep what they need.
class VendorCount {
 public:
  VendorCount(std::uint64_t count, MPI_Datatype type);
  ~VendorCount();
  VendorCount(const VendorCount&) = delete;
  VendorCount& operator=(const VendorCount&) = delete;
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  MPI_Datatype type_;
  int count_;
  MPI_Datatype made_ = MPI_DATATYPE_NULL;
};

}  // namespace impishim::shim
