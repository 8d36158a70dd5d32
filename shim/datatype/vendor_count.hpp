// SPDX-License-Identifier: Apache-2.0
/// Counts that exceed an int, for vendor functions that take an int.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace impishim::shim {

/// An int count and a datatype that describe `count` elements of a type. If the count fits, the
/// datatype is the type itself. Otherwise the count is 1 and the datatype is created for it. The
/// datatype lives as long as this object; operations in progress keep what they need.
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
