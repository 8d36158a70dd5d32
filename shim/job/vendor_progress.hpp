// SPDX-License-Identifier: Apache-2.0
/// The vendor's progress, asked for by itself.
#pragma once

#include <mpi.h>

namespace impishim::shim {

/// A request that stays incomplete as long as this object lives: asking for its status moves the
/// vendor's MPI on (MPI-3.1 3.7.4, 10.3) and costs the same however many messages wait there. A
/// probe looks through all unexpected ones.
class VendorProgress {
 public:
  VendorProgress();
  ~VendorProgress();
  VendorProgress(const VendorProgress&) = delete;
  VendorProgress& operator=(const VendorProgress&) = delete;

  /// Any thread that may call the vendor.
  void make() const;

 private:
  MPI_Request never_ = MPI_REQUEST_NULL;  ///< generalized (MPI-3.1 12.2)
};

}  // namespace impishim::shim
