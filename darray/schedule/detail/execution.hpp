// SPDX-License-Identifier: Apache-2.0
/// Planned work that runs many times, blocking or in the background. Not for users.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "darray/communicator/collective_order.hpp"
#include "darray/communicator/communicator.hpp"
#include "darray/communicator/element.hpp"

namespace impishim::darray {

/// One execution at a time of something that is planned: steps that run in order, its turn among
/// the executions that use collectives, and its failure. A step begins an operation, and its
/// request may stay MPI_REQUEST_NULL if the operation completes at once. Or a step is a part: an
/// execution of its own that is started, tested and waited for. Operations use the communicators of
/// groups.
///
/// Executions that use collectives are started in the same order on all ranks, and advance in this
/// order; see CollectiveOrder. If local work throws, as a user's operator may, or a part, the other
/// steps are still run, because other ranks wait for them. The exception is thrown afterwards.
///
/// Its steps refer to the owner, so neither may move.
class Execution {
 public:
  using Step = std::function<void(bool blocking, MPI_Request& request)>;
  using Work = std::function<void()>;

  explicit Execution(const Communicator& communicator)
      : turns_(communicator.turns()), turn_(turns_) {}
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  void add(Step begin) { steps_.push_back({std::move(begin), {}, false}); }
  void add_local(Work work) {
    steps_.push_back({[work = std::move(work)](bool, MPI_Request&) { work(); }, {}, true});
  }
  /// Adds a part. `begin(blocking)` begins it, or runs it completely. `advance(blocking)` advances
  /// it and returns true if it is complete.
  void add_part(std::function<void(bool)> begin, std::function<bool(bool)> advance) {
    steps_.push_back({[begin = std::move(begin)](bool blocking, MPI_Request&) { begin(blocking); },
                      std::move(advance), true});
  }
  /// Adds a schedule as a part. `start(blocking)` starts it, or executes it; it may do nothing.
  template <class Schedule>
  void add_schedule(Schedule& schedule, std::function<void(bool)> start) {
    add_part(std::move(start), [&schedule](bool blocking) { return advance(schedule, blocking); });
  }
  /// Starts a schedule, or executes it.
  template <class Schedule, class Source, class Destination>
  static void begin(Schedule& schedule, Source source, Destination destination, bool blocking) {
    if (blocking) {
      schedule.execute(source, destination);
    } else {
      schedule.start(source, destination);
    }
  }
  /// Tests a schedule, or waits for it. Returns true if it is complete.
  template <class Schedule>
  static bool advance(Schedule& schedule, bool blocking) {
    if (!blocking) return schedule.test();
    schedule.wait();
    return true;
  }

  /// Runs all steps. It uses blocking operations, which are faster than nonblocking ones and do not
  /// match them. Runs `first` before the steps; if it throws, they run all the same.
  void run(const Work& first = {});
  /// Starts an execution, which test() and wait() complete. Runs `first` at once, whether or not it
  /// is this execution's turn. Throws Error(kArgument) if one is in progress.
  void start(const Work& first = {});
  bool test() { return turn_.advance(false); }
  void wait() { turn_.advance(true); }
  [[nodiscard]] bool under_way() const { return turn_.under_way(); }
  /// Throws Error(kArgument) if an execution is in progress.
  void require_idle() const {
    if (turn_.under_way())
      fail(ErrorKind::kArgument, "an execution of this plan is in progress: wait for it first");
  }
  /// Abandons an execution that the program has not waited for, before its owner is destroyed. It
  /// leaves its place in the order. The owner's memory is leaked on purpose, because MPI still
  /// reads and writes it.
  template <class Owner>
  void abandon(std::unique_ptr<Owner>& owner) {
    if (turn_.over()) return;
    turn_ = CollectiveTicket(turns_);
    static_cast<void>(owner.release());
  }

 private:
  struct Entry {
    Step begin;
    std::function<bool(bool)> advance;
    bool local;  // other ranks do not learn of its errors
    [[nodiscard]] bool goes_on_after(const Error& error) const {
      return local && (advance || error.kind() != ErrorKind::kMpi);
    }
  };
  bool advance_steps(bool blocking);
  bool step_is_over(bool blocking);
  void attempt(const Entry& step, const std::function<void()>& body);

  std::shared_ptr<CollectiveOrder> turns_;
  CollectiveTicket turn_;
  std::vector<Entry> steps_;
  std::size_t next_ = 0;
  FirstFailure failure_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Run a collective of `count` elements for each rank, blocking or nonblocking. Each kind uses a
/// separate communicator.
void broadcast_step(bool blocking, MPI_Request& request, const Communicator& group,
                    const Element& element, void* data, Index count, int root);
void gather_step(bool blocking, MPI_Request& request, const Communicator& group,
                 const Element& element, const void* mine, void* all, Index count, int root);
void all_gather_step(bool blocking, MPI_Request& request, const Communicator& group,
                     const Element& element, const void* mine, void* all, Index count);
void all_to_all_step(bool blocking, MPI_Request& request, const Communicator& group,
                     const Element& element, const void* sent, void* received, Index count);

}  // namespace impishim::darray
