/// Waiting in an MPI call: drives the engine, the vendor's progress and contested receives together (DESIGN.md 4, 7).
#pragma once

#include <chrono>
#include <cstdint>
#include <type_traits>

#include "shim/failure.hpp"
#include "shim/job.hpp"

namespace impishim::shim {

/// One round of progress on both sides: the engine, contested receives, and the vendor. Ends the job if the engine
/// has failed. Returns true if anything moved.
bool progress_once(Job& job, bool application_waits);

/// Decides how a waiting thread spends its time: spins, then yields, then sleeps on the engine's channels in bounded steps,
/// very short ones if something of the vendor's is waited for, too. One object per wait.
class WaitPolicy {
 public:
  /// After a round without completion, `moved` as returned by progress_once(): true if it is time to sleep(). Yields where it
  /// is time for that.
  [[nodiscard]] bool rested_enough(const Job& job, bool moved);
  /// `vendor_may_complete`: the wait can also end by a completion inside the vendor's MPI, which has no descriptor to sleep on.
  void sleep(Job& job, bool vendor_may_complete);

 private:
  void tell_if_stalled(Job& job);
  std::uint32_t idle_rounds_ = 0;
  std::chrono::steady_clock::time_point resting_since_;  ///< its default: not yet
  bool told_ = false;
  std::chrono::microseconds slept_{0};
};

/// Makes progress until `done()` is true. Must not hold locks; `done` may call the vendor. `vendor_may_complete`: a bool, or a
/// function of what is waited for now.
template <class VendorMayComplete, class Done>
void drive_until(Job& job, VendorMayComplete&& vendor_may_complete, Done&& done) {
  WaitPolicy policy;
  job.engine->send_batches();
  for (bool over = done(); !over;) {
    const bool moved = progress_once(job, true);
    over = done();
    if (over || !policy.rested_enough(job, moved)) continue;
    // What is waited for is looked through before a sleep alone: there may be much of it.
    if constexpr (std::is_same_v<std::decay_t<VendorMayComplete>, bool>) {
      policy.sleep(job, vendor_may_complete);
    } else {
      policy.sleep(job, vendor_may_complete());
    }
  }
  heed_failure(job);  // the progress thread may have met it first, and have ended what was waited for
}

}  // namespace impishim::shim
