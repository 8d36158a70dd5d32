// SPDX-License-Identifier: Apache-2.0
/// Watches a process whose thread stands in a blocking call of the vendor's while something of ours
/// needs that thread.
///
/// Receives from MPI_ANY_SOURCE on spanning communicators are posted at the vendor, too, and
/// nonblocking collectives have phases there: only the thread that calls the vendor can settle the
/// former and move the latter on. Point-to-point calls are polled instead
/// (Job::may_block_in_vendor()), a collective inside a system cannot be, since all members must
/// take the same form. So a process in one may keep others waiting. The progress thread, which
/// never calls the vendor, does for them what it can (wire::Engine::relieve()), and tells once what
/// is left.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace impishim::shim {

struct Job;

/// A blocking call of the vendor's.
struct VendorCallKind {
  const char* function;
  bool collective;  ///< IMPISHIM_NATIVE_COLLECTIVES=polled takes its nonblocking form
};

class StandWatch {
 public:
  // The thread that calls the vendor.
  /// False: it stands in a call already, from whose callback this one is made.
  [[nodiscard]] bool enter(const VendorCallKind& call);
  void leave();

  /// The progress thread. Returns whether it has to watch on.
  bool tick(Job& job);

 private:
  void watch(Job& job, std::uint64_t stand);

  std::atomic<std::uint64_t> changes_{0};  ///< odd while the thread stands in a call
  std::atomic<const VendorCallKind*> call_{nullptr};

  // The progress thread's.
  std::uint64_t seen_ = 0;                            ///< of `changes_`, at the last tick
  std::chrono::steady_clock::time_point seen_since_;  ///< it has had that value
  bool told_ = false;                                 ///< once in the life of a process
};

}  // namespace impishim::shim
