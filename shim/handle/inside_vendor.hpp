// SPDX-License-Identifier: Apache-2.0
/// Distinguishes the user's calls into MPI from the vendor's own calls.
#pragma once

#include <atomic>

namespace impishim::shim {

/// A depth that only its own thread writes. The progress thread may read it.
class VendorDepth {
 public:
  [[nodiscard]] int value() const { return depth_.load(std::memory_order_relaxed); }
  void set(int depth) { depth_.store(depth, std::memory_order_relaxed); }

 private:
  std::atomic<int> depth_{0};
};

/// Nesting depth of vendor calls on this thread. While it is not 0, calls of MPI_ and PMPI_ names
/// are the vendor's own and pass straight through.
inline constinit thread_local VendorDepth vendor_depth __attribute__((tls_model("initial-exec")));

/// Marks a vendor call on this thread while it exists.
class InsideVendor {
 public:
  InsideVendor() { vendor_depth.set(vendor_depth.value() + 1); }
  ~InsideVendor() { vendor_depth.set(vendor_depth.value() - 1); }
  InsideVendor(const InsideVendor&) = delete;
  InsideVendor& operator=(const InsideVendor&) = delete;
};

/// Marks a user callback that the vendor calls: MPI calls in it are the user's again.
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
