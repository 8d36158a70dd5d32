// SPDX-License-Identifier: Apache-2.0
/// Watches a process whose thread is in a blocking call of the vendor's (a stand) while operations
/// of this library need that thread.
///
/// Receives from MPI_ANY_SOURCE on spanning communicators are also posted in the vendor's MPI, and
/// nonblocking collectives have phases there. Only the thread that calls the vendor can resolve the
/// former and progress the latter. Point-to-point calls are polled instead
/// (Job::may_block_in_vendor()). A collective inside a system cannot be polled, since all members
/// must use the same form. A process inside such a collective may therefore delay others. The
/// progress thread, which never calls the vendor, does as much of this work as it can
/// (wire::Engine::relieve()). It reports once what remains.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace impishim::shim {

struct Job;

/// A blocking call of the vendor's.
struct VendorCallKind {
  const char* function;
  bool collective;  ///< IMPISHIM_NATIVE_COLLECTIVES=polled replaces it by its nonblocking form
};

class StandWatch {
 public:
  // For the thread that calls the vendor.
  /// Returns false if the thread is already in a call, and this one is made from a callback of that
  /// call.
  [[nodiscard]] bool enter(const VendorCallKind& call);
  void leave();

  /// Called by the progress thread. Returns true if it must continue to watch.
  bool tick(Job& job);

 private:
  void watch(Job& job, std::uint64_t stand);

  std::atomic<std::uint64_t> changes_{0};  ///< odd while the thread is in a call
  std::atomic<const VendorCallKind*> call_{nullptr};

  // For the progress thread only.
  std::uint64_t seen_ = 0;                            ///< value of `changes_` at the last tick
  std::chrono::steady_clock::time_point seen_since_;  ///< start of the time with this value
  bool told_ = false;  ///< reported; at most once in the life of a process
};

}  // namespace impishim::shim
