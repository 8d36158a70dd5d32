// SPDX-License-Identifier: Apache-2.0
/// Explicit progress of the vendor's MPI.
#pragma once

#include <mpi.h>

namespace impishim::shim {

/// A request that stays incomplete as long as this object lives. A query of its status progresses
/// the vendor's MPI (MPI-3.1 3.7.4, 10.3). The cost does not depend on the number of unexpected
/// messages there. A probe searches all of them.
class VendorProgress {
 public:
  VendorProgress();
  ~VendorProgress();
  VendorProgress(const VendorProgress&) = delete;
  VendorProgress& operator=(const VendorProgress&) = delete;

  /// Progresses the vendor's MPI. Any thread that may call the vendor.
  void make() const;

 private:
  MPI_Request never_ = MPI_REQUEST_NULL;  ///< generalized (MPI-3.1 12.2)
};

}  // namespace impishim::shim
