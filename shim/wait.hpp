/// Waiting in an MPI call: drives the engine, the vendor's progress and contested receives together (DESIGN.md 4, 7).
#pragma once

#include <cstdint>

#include "shim/job.hpp"

namespace impishim::shim {

/// One round of progress on both sides: the engine, contested receives, and the vendor (one MPI_Iprobe on the private
/// communicator). Ends the job if the engine has failed. Returns true if anything moved.
bool progress_once(Job& job, bool application_waits);

/// Decides how a waiting thread spends its time: spins, then yields, then sleeps on the engine's channels in short bounded
/// steps (only if nothing of the vendor's is waited for). One object per wait.
class WaitPolicy {
 public:
  /// `vendor_may_complete`: the wait can also end by a completion inside the vendor's MPI, which has no descriptor to sleep on.
  explicit WaitPolicy(bool vendor_may_complete) : vendor_may_complete_(vendor_may_complete) {}
  /// Call after a round without completion; `moved` as returned by progress_once().
  void pause(Job& job, bool moved);

 private:
  bool vendor_may_complete_;
  std::uint32_t idle_rounds_ = 0;
};

/// Makes progress until `done()` is true. Must not hold locks; `done` may call the vendor.
template <class Done>
void drive_until(Job& job, bool vendor_may_complete, Done&& done) {
  WaitPolicy policy(vendor_may_complete);
  while (!done()) {
    const bool moved = progress_once(job, true);
    if (done()) return;
    policy.pause(job, moved);
  }
}

}  // namespace impishim::shim
