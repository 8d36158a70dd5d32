/// Waiting in an MPI call: drives the engine, the vendor's progress and contested receives together (DESIGN.md 4, 7).
#pragma once

#include <chrono>
#include <cstdint>
#include <type_traits>

#include "shim/failure.hpp"
#include "shim/job.hpp"

namespace impishim::shim {

/// The part of a round of progress that follows a look at the engine, in which something came or not: contested receives,
/// outstanding collectives, and now and then the vendor. Ends the job if the engine has failed. Returns true if anything moved.
bool progress_besides_engine(Job& job, bool came);

/// One round of progress on both sides. Returns true if anything moved.
inline bool progress_once(Job& job, bool application_waits) {
  const bool came = job.engine->poll(application_waits) != 0;
  return progress_besides_engine(job, came) || came;
}

/// Where what came ended a wait, the rest of its round need not keep the program: true, unless that has been put off for long.
[[nodiscard]] bool rest_of_round_may_wait();

/// Decides how a waiting thread spends its time: spins, then yields, then sleeps on the engine's channels in bounded steps,
/// very short ones if something of the vendor's is waited for, too. One object per wait.
class WaitPolicy {
 public:
  /// After a round without completion, in which something `moved` or not: true if it is time to sleep(). Yields where it is
  /// time for that.
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
    const bool came = job.engine->poll(true) != 0;
    const bool looked = came && rest_of_round_may_wait();
    if (looked && done()) break;
    const bool moved_besides = progress_besides_engine(job, came);
    if (!looked || moved_besides) over = done();
    if (over || !policy.rested_enough(job, came || moved_besides)) continue;
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
