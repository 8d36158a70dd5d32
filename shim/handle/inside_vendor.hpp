// SPDX-License-Identifier: Apache-2.0
/// Whose code a call into MPI comes from: the user's, or the vendor's own.
#pragma once

#include <atomic>

namespace impishim::shim {

/// A depth that its own thread alone writes. The progress thread may read it.
class VendorDepth {
 public:
  [[nodiscard]] int value() const { return depth_.load(std::memory_order_relaxed); }
  void set(int depth) { depth_.store(depth, std::memory_order_relaxed); }

 private:
  std::atomic<int> depth_{0};
};

/// How deep this thread is inside vendor calls: the vendor's own calls back into MPI_ and PMPI_
/// names pass straight through.
inline constinit thread_local VendorDepth vendor_depth __attribute__((tls_model("initial-exec")));

/// Marks a vendor call on this thread.
class InsideVendor {
 public:
  InsideVendor() { vendor_depth.set(vendor_depth.value() + 1); }
  ~InsideVendor() { vendor_depth.set(vendor_depth.value() - 1); }
  InsideVendor(const InsideVendor&) = delete;
  InsideVendor& operator=(const InsideVendor&) = delete;
};

/// Marks a user callback that the vendor calls: MPI calls made there are the user's again.
class InsideUserCallback {
 public:
  InsideUserCallback() : depth_(vendor_depth.value()) { vendor_depth.set(0); }
  ~InsideUserCallback() { vendor_depth.set(depth_); }
  InsideUserCallback(const InsideUserCallback&) = delete;
  InsideUserCallback& operator=(const InsideUserCallback&) = delete;

 private:
  int depth_;
};

}  // namespace impishim::shim
