// SPDX-License-Identifier: Apache-2.0
/// Waiting in an MPI call: drives the engine, the vendor's progress and contested receives together
/// (docs/architecture.md, Threads).
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "shim/error/failure.hpp"
#include "shim/job/job.hpp"

namespace impishim::shim {

/// Does the part of a progress round that follows `polls` engine polls; `came` is true if they
/// found something. It handles contested receives, outstanding collectives, and from time to time
/// the vendor. Ends the job if the engine has failed. Returns true if it made progress.
bool progress_vendor_and_queues(Job& job, bool came, std::uint32_t polls);

/// Does one round of progress on both sides. Returns true if it made progress.
inline bool progress_once(Job& job, bool application_waits) {
  const bool came = job.engine->poll(application_waits) != 0;
  return progress_vendor_and_queues(job, came, 1) || came;
}

/// Does one round for a call that tests requests, has found none complete, and does not wait.
/// Returns false if it need not test them again: testing asks the vendor, which takes longer than
/// the round, and yields the processor where the vendor is told to.
[[nodiscard]] bool progress_for_test(Job& job);

/// Does one round for a thread that polls for what only the vendor can bring. It leaves the engine
/// out if this thread has polled it just now, and in vain: that poll asks the kernel about each
/// channel, which takes longer than the vendor needs for a message or an access.
void progress_for_vendor(Job& job);

/// Returns true if the rest of the round may be skipped because an engine poll ended the wait.
/// Returns false if the rest has been skipped for long.
[[nodiscard]] bool can_defer_progress();

/// Decides how a waiting thread spends its time: it spins, then yields, then sleeps on the engine's
/// channels in bounded steps. The steps are very short if the thread waits for the vendor, too. One
/// object per wait.
class WaitPolicy {
 public:
  explicit WaitPolicy(const Job& job);
  /// Starts the wait, before the first round. Yields if processors are scarce: the process that is
  /// to send the awaited message may need this processor.
  void begin() const;
  /// Returns how often a round polls the engine until a poll finds something, if no other event
  /// ends the wait. An engine poll costs a fraction of the rest of a round, which should not delay
  /// arriving messages.
  [[nodiscard]] std::uint32_t max_polls() const { return pace_.polls; }
  /// Returns true if it is time to sleep(). To be called after a round of `polls` engine polls
  /// without completion; `moved` is true if the round made progress. Yields when it is time for
  /// that.
  [[nodiscard]] bool should_sleep(Job& job, bool moved, std::uint32_t polls);
  /// Sleeps. `vendor_may_complete` is true if a completion inside the vendor's MPI can also end the
  /// wait; the vendor has no descriptor to sleep on.
  void sleep(Job& job, bool vendor_may_complete);

  /// Pace of a wait, in engine polls: per round, before the first yield, and before the first
  /// sleep.
  struct Pace {
    std::uint32_t polls;
    std::uint32_t spin;
    std::uint32_t yield;
  };

 private:
  void tell_if_stalled(Job& job);
  const Pace& pace_;
  std::uint32_t idle_polls_ = 0;
  std::uint32_t yields_ = 0;
  std::chrono::steady_clock::time_point resting_since_;  ///< default: not set yet
  bool told_ = false;
  std::chrono::microseconds slept_{0};
};

/// Traces a wait inside of a traced call, from begin() until this ends. Does nothing without a
/// trace.
class TracedWait {
 public:
  explicit TracedWait(wire::Trace* trace) : trace_(trace) {}
  ~TracedWait() {
    if (begin_ns_ != 0) [[unlikely]]
      end();
  }
  TracedWait(const TracedWait&) = delete;
  TracedWait& operator=(const TracedWait&) = delete;

  void begin() {
    if (trace_ != nullptr) [[unlikely]]
      begin_now();
  }

 private:
  void begin_now();
  void end();

  wire::Trace* trace_;
  std::int64_t begin_ns_ = 0;
};

/// Makes progress until `done()` is true. The caller must not hold locks; `done` may call the
/// vendor. `vendor_may_complete` is a bool, or a function that tells it for the current state of
/// the wait.
template <class VendorMayComplete, class Done>
void drive_until(Job& job, VendorMayComplete&& vendor_may_complete, Done&& done) {
  WaitPolicy policy(job);
  job.engine->send_batches();
  std::uint32_t max_polls = 1;
  if constexpr (std::is_same_v<std::decay_t<VendorMayComplete>, bool>) {
    if (!vendor_may_complete) max_polls = policy.max_polls();
  }
  bool over = done();
  TracedWait traced(job.trace.get());
  if (!over) {
    policy.begin();
    traced.begin();
  }
  while (!over) {
    std::uint32_t polls = 1;
    bool came = job.engine->poll(true) != 0;
    for (; !came && polls < max_polls; ++polls) came = job.engine->poll(true) != 0;
    const bool deferred = came && can_defer_progress();
    if (deferred && done()) break;
    const bool moved_besides = progress_vendor_and_queues(job, came, polls);
    if (!deferred || moved_besides) over = done();
    if (over || !policy.should_sleep(job, came || moved_besides, max_polls)) continue;
    // The function goes through everything that is waited for, which may be much, so it is called
    // before a sleep only.
    if constexpr (std::is_same_v<std::decay_t<VendorMayComplete>, bool>) {
      policy.sleep(job, vendor_may_complete);
    } else {
      policy.sleep(job, vendor_may_complete());
    }
  }
  // The progress thread may have seen the failure first, and ended what was waited for.
  exit_if_engine_failed(job);
}

/// Waits until an operation of the engine is complete. If the communicator is revoked meanwhile, it
/// is cancelled.
template <class Operation>
void await_operation(Job& job, const Communicator& communicator, Operation& operation) {
  bool cancelled = false;
  drive_until(job, false, [&] {
    if (!operation.complete() && communicator.revoked.load(std::memory_order_relaxed) &&
        !std::exchange(cancelled, true))
      job.engine->cancel(operation);
    return operation.complete();
  });
}

/// Waits for a vendor request, with progress on both sides. Returns the vendor's code.
int poll_native(Job& job, MPI_Request request);

}  // namespace impishim::shim
