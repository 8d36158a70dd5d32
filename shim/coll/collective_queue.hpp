// SPDX-License-Identifier: Apache-2.0
/// The queue of the collectives of one communicator, and the functions that start, await and
/// restart them.
///
/// All members call a communicator's collectives in the same order (MPI-3.1 5.12). Each collective
/// runs when the earlier ones are complete, so local phases and messages match without further
/// identification. Waiting for one collective completes the earlier ones. Every wait in an MPI call
/// progresses all of them.
///
/// A member whose collective ends in an error tells the others (shim/job/failure_notices.hpp). A
/// member that has waited for long in a collective reads what others have told. If the collective
/// that it waits in has failed elsewhere, it gives it up: the call ends in the same error class,
/// and the communicator is *broken*. All later collectives on a broken communicator end in this
/// class at all members; its point-to-point communication goes on. The failed member starts its
/// next collective when it knows that no other member waits in the failed one (FailureWatch).
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "shim/coll/collective.hpp"
#include "shim/values/failure_notice.hpp"
#include "shim/values/failure_watch.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// An entry in a communicator's queue. Owned by the call (blocking) or by its request.
struct QueuedCollective {
  QueuedCollective(Job& job, Communicator& communicator, const char* function, bool keeps_handles)
      : call(job, communicator, function, keeps_handles) {}
  Collective call;
  /// Number in the communicator, and number of its initialisation if it is persistent.
  std::uint64_t number = 0;
  std::uint64_t initialisation = 0;
  /// True if no thread is inside an MPI call for it, so that every wait progresses it.
  bool outstanding = false;
  std::atomic<bool> over{false};
};

class CollectiveQueue {
 public:
  void enter(Job& job, const std::shared_ptr<QueuedCollective>& queued);
  /// Progresses the collectives at the front, unless another thread does. Returns true if `queued`
  /// is complete.
  bool step(Job& job, const QueuedCollective& queued);
  void step(Job& job);
  /// Returns true if the collective in progress waits in the vendor's MPI.
  [[nodiscard]] bool waits_in_vendor();
  /// Returns the function of the collective in progress if it can proceed, or if it waits for the
  /// vendor, which only an application thread may poll. Returns null otherwise. Any thread.
  [[nodiscard]] const char* held_up();

  /// Returns the number of the next collective, or of the next initialisation. An erroneous one
  /// counts, too.
  [[nodiscard]] std::uint64_t next_number() { return ++numbers_; }
  [[nodiscard]] std::uint64_t next_initialisation() { return ++initialisations_; }
  /// Notes that the arguments of a collective of this member, which has the queue's latest number,
  /// are wrong. `others` are all other members.
  void failed_here(FailureNotice::Kind kind, std::uint64_t number,
                   std::vector<wire::WorldRank> others);
  /// Breaks the communicator, since members are lost or it is revoked: what waits ends with
  /// `cause`, unless it was broken before; a revocation replaces a loss. May be called while a
  /// callback of the program runs within a collective.
  void break_with(FailureNotice cause);
  /// Returns what broke the communicator. For communicators whose `broken` is true.
  [[nodiscard]] FailureNotice what_broke();

 private:
  /// How long the first collective has waited without a step forward, or in doubt.
  struct Stall {
    std::uint64_t number = 0;  ///< of the collective
    std::uint64_t waits = 0;   ///< Task::waits() then
    bool in_doubt = false;
    bool told = false;
    std::uint32_t steps = 0;
    std::chrono::steady_clock::time_point since;
    std::chrono::steady_clock::time_point next_poll;
  };
  [[nodiscard]] bool first_is_over(Job& job) IMPISHIM_REQUIRES(mutex_);
  [[nodiscard]] bool must_read_notices(bool in_doubt) IMPISHIM_REQUIRES(mutex_);
  void read_notices(Job& job, bool in_doubt) IMPISHIM_REQUIRES(mutex_);
  void tell_of_waiting(Job& job) IMPISHIM_REQUIRES(mutex_);
  void break_communicator(Job& job, FailureNotice cause) IMPISHIM_REQUIRES(mutex_);
  void end_first(Job& job) IMPISHIM_REQUIRES(mutex_);

  Mutex mutex_;
  std::deque<std::shared_ptr<QueuedCollective>> waiting_ IMPISHIM_GUARDED_BY(mutex_);
  Stall stall_ IMPISHIM_GUARDED_BY(mutex_);
  FailureWatch failures_ IMPISHIM_GUARDED_BY(mutex_);
  std::atomic<bool> broken_{false};
  Mutex cause_mutex_;
  FailureNotice cause_ IMPISHIM_GUARDED_BY(cause_mutex_);  ///< of what is broken
  std::atomic<std::uint64_t> numbers_{0};
  std::atomic<std::uint64_t> initialisations_{0};
};

/// The three ways to call a collective: blocking, nonblocking and persistent. `prepare` describes
/// the arguments. Each function returns the result of the call.
[[nodiscard]] int run_collective(Job& job, Communicator& communicator, const char* function,
                                 const Prepare& prepare);
/// Raises an error in the arguments of a call in which all members take part, and tells the others,
/// as run_collective() does. Returns its code.
[[nodiscard]] int fail_collective(Communicator& communicator, const char* function, int error_class,
                                  std::string_view text);
/// Raises an error in the arguments of a call of this process alone. Returns its code.
[[nodiscard]] int fail_alone(Communicator& communicator, const char* function, int error_class,
                             std::string_view text);
/// One of these two.
using Fail = int (*)(Communicator&, const char* function, int error_class, std::string_view text);
[[nodiscard]] int start_collective(Job& job, Communicator& communicator, const char* function,
                                   MPI_Request* handle, const Prepare& prepare);
[[nodiscard]] int init_collective(Job& job, Communicator& communicator, const char* function,
                                  MPI_Request* handle, Prepare prepare);

}  // namespace impishim::shim
