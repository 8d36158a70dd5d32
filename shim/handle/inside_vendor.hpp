/// Whose code a call into MPI comes from: the user's, or the vendor's own.
#pragma once

namespace impishim::shim {

/// How deep this thread is inside vendor calls: the vendor's own calls back into MPI_ and PMPI_
/// names pass straight through.
inline thread_local int vendor_depth __attribute__((tls_model("initial-exec"))) = 0;

/// Marks a vendor call on this thread.
class InsideVendor {
 public:
  InsideVendor() { ++vendor_depth; }
  ~InsideVendor() { --vendor_depth; }
  InsideVendor(const InsideVendor&) = delete;
  InsideVendor& operator=(const InsideVendor&) = delete;
};

/// Marks a user callback that the vendor calls: MPI calls made there are the user's again.
class InsideUserCallback {
 public:
  InsideUserCallback() : depth_(vendor_depth) { vendor_depth = 0; }
  ~InsideUserCallback() { vendor_depth = depth_; }
  InsideUserCallback(const InsideUserCallback&) = delete;
  InsideUserCallback& operator=(const InsideUserCallback&) = delete;

 private:
  int depth_;
};

}  // namespace impishim::shim
