// SPDX-License-Identifier: Apache-2.0
/// Waiting in an MPI call: drives the engine, the vendor's progress and contested receives together
/// (DESIGN.md 4, 7).
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <type_traits>

#include "shim/error/failure.hpp"
#include "shim/job/job.hpp"

namespace impishim::shim {

/// The part of a round of progress that follows `looks` at the engine, in which something came or
/// not: contested receives, outstanding collectives, and now and then the vendor. Ends the job if
/// the engine has failed. Returns true if anything moved.
bool progress_besides_engine(Job& job, bool came, std::uint32_t looks);

/// One round of progress on both sides. Returns true if anything moved.
inline bool progress_once(Job& job, bool application_waits) {
  const bool came = job.engine->poll(application_waits) != 0;
  return progress_besides_engine(job, came, 1) || came;
}

/// Where what came ended a wait, the rest of its round need not keep the program: true, unless that
/// has been put off for long.
[[nodiscard]] bool rest_of_round_may_wait();

/// Decides how a waiting thread spends its time: spins, then yields, then sleeps on the engine's
/// channels in bounded steps, very short ones if something of the vendor's is waited for, too. One
/// object per wait.
class WaitPolicy {
 public:
  explicit WaitPolicy(const Job& job);
  /// Before the first round: whoever is to send what is waited for may need this processor.
  void begin() const;
  /// How often a round looks at the engine until it finds something, if nothing else ends the wait:
  /// a look costs a fraction of the rest of a round, which should not keep what comes.
  [[nodiscard]] std::uint32_t most_looks() const { return pace_.looks; }
  /// After a round of so many `looks` without completion, in which something `moved` or not: true
  /// if it is time to sleep(). Yields where it is time for that.
  [[nodiscard]] bool rested_enough(Job& job, bool moved, std::uint32_t looks);
  /// `vendor_may_complete`: the wait can also end by a completion inside the vendor's MPI, which
  /// has no descriptor to sleep on.
  void sleep(Job& job, bool vendor_may_complete);

  /// How a thread waits, in looks: per round, before it yields between two rounds, and before it
  /// sleeps.
  struct Pace {
    std::uint32_t looks;
    std::uint32_t spin;
    std::uint32_t yield;
  };

 private:
  void tell_if_stalled(Job& job);
  const Pace& pace_;
  std::uint32_t idle_looks_ = 0;
  std::uint32_t yields_ = 0;
  std::chrono::steady_clock::time_point resting_since_;  ///< its default: not yet
  bool told_ = false;
  std::chrono::microseconds slept_{0};
};

/// Makes progress until `done()` is true. Must not hold locks; `done` may call the vendor.
/// `vendor_may_complete`: a bool, or a function of what is waited for now.
template <class VendorMayComplete, class Done>
void drive_until(Job& job, VendorMayComplete&& vendor_may_complete, Done&& done) {
  WaitPolicy policy(job);
  job.engine->send_batches();
  std::uint32_t most_looks = 1;
  if constexpr (std::is_same_v<std::decay_t<VendorMayComplete>, bool>) {
    if (!vendor_may_complete) most_looks = policy.most_looks();
  }
  bool over = done();
  if (!over) policy.begin();
  while (!over) {
    std::uint32_t looks = 1;
    bool came = job.engine->poll(true) != 0;
    for (; !came && looks < most_looks; ++looks) came = job.engine->poll(true) != 0;
    const bool looked = came && rest_of_round_may_wait();
    if (looked && done()) break;
    const bool moved_besides = progress_besides_engine(job, came, looks);
    if (!looked || moved_besides) over = done();
    if (over || !policy.rested_enough(job, came || moved_besides, most_looks)) continue;
    // What is waited for is looked through before a sleep alone: there may be much of it.
    if constexpr (std::is_same_v<std::decay_t<VendorMayComplete>, bool>) {
      policy.sleep(job, vendor_may_complete);
    } else {
      policy.sleep(job, vendor_may_complete());
    }
  }
  heed_failure(
      job);  // the progress thread may have met it first, and have ended what was waited for
}

/// Waits for a request of the vendor's, with progress on both sides. Returns the vendor's code.
int poll_native(Job& job, MPI_Request request);

}  // namespace impishim::shim
