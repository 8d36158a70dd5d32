// SPDX-License-Identifier: Apache-2.0
/// Distinguishes the user's calls into MPI from the vendor's own calls.
#pragma once

#include <atomic>
#include <cstdint>

namespace impishim::shim {

/// How deep a thread is inside vendor calls, and which of its calls that is. Only its own thread
/// writes it. The progress thread may read it. One word, so that a call costs no more than a plain
/// counter.
class VendorDepth {
 public:
  [[nodiscard]] int value() const { return static_cast<int>(load() & kDepth); }
  /// Returns a number that differs from call to call, or 0 if the thread is in no vendor call.
  [[nodiscard]] std::uint64_t call() const {
    const std::uint64_t word = load();
    return (word & kDepth) == 0 ? 0 : word;
  }
  void enter() { store(load() + kCall + 1); }
  void leave() { store(load() - 1); }
  void set(int depth) { store((load() & ~kDepth) | static_cast<std::uint64_t>(depth)); }

 private:
  static constexpr std::uint64_t kDepth = 0xffff;
  static constexpr std::uint64_t kCall = kDepth + 1;
  [[nodiscard]] std::uint64_t load() const { return word_.load(std::memory_order_relaxed); }
  void store(std::uint64_t word) { word_.store(word, std::memory_order_relaxed); }

  std::atomic<std::uint64_t> word_{0};
};

/// Nesting depth of vendor calls on this thread. While it is not 0, calls of MPI_ and PMPI_ names
/// are the vendor's own and pass straight through.
inline constinit thread_local VendorDepth vendor_depth __attribute__((tls_model("initial-exec")));

/// Marks a vendor call on this thread while it exists.
class InsideVendor {
 public:
  InsideVendor() { vendor_depth.enter(); }
  ~InsideVendor() { vendor_depth.leave(); }
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
