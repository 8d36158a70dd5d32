// SPDX-License-Identifier: Apache-2.0
/// A sequence of collectives and local work, blocking or in the background. Not for users.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "darray/schedule/collective_order.hpp"
#include "darray/schedule/communicator.hpp"
#include "darray/schedule/element.hpp"

namespace impishim::darray {

/// Steps that are run in order. A step begins an operation, and its request may stay
/// MPI_REQUEST_NULL if the operation completes at once. Or a step is itself something that is
/// started, tested and waited for. Operations use the communicators of groups.
///
/// Executions that use collectives are started in the same order on all ranks, and advance in this
/// order; see CollectiveOrder. If local work throws, as a user's operator may, the other steps are
/// still run, because other ranks wait for them. The exception is thrown afterwards.
class Sequence {
 public:
  using Step = std::function<void(bool blocking, MPI_Request& request)>;

  explicit Sequence(const Communicator& communicator)
      : turns_(communicator.turns()), turn_(turns_) {}

  void add(Step begin) { steps_.push_back({std::move(begin), {}, false}); }
  void add_local(std::function<void()> work) {
    steps_.push_back({[work = std::move(work)](bool, MPI_Request&) { work(); }, {}, true});
  }
  /// Adds a nested execution. `begin(blocking)` begins it, or runs it completely.
  /// `advance(blocking)` advances it and returns true if it is complete.
  void add_nested(std::function<void(bool)> begin, std::function<bool(bool)> advance) {
    steps_.push_back({[begin = std::move(begin)](bool blocking, MPI_Request&) { begin(blocking); },
                      std::move(advance), true});
  }

  /// Runs all steps. It uses blocking operations, which are faster than nonblocking ones and do not
  /// match them.
  void run();
  /// Starts an execution, which test() and wait() complete. Throws Error(kArgument) if one is under
  /// way.
  void start();
  bool test() { return turn_.advance(false); }
  void wait() { turn_.advance(true); }
  /// Throws Error(kArgument) if an execution is in progress.
  void require_idle() const {
    if (turn_.under_way())
      fail(ErrorKind::kArgument, "an execution of this schedule is in progress: wait for it first");
  }
  /// Abandons an execution that the program has not waited for, before its owner is destroyed. It
  /// leaves its place in the order. The owner's memory is leaked on purpose, because MPI still
  /// reads and writes it.
  template <class Owner>
  void abandon(std::unique_ptr<Owner>& owner) {
    if (!turn_.under_way()) return;
    turn_ = CollectiveTicket(turns_);
    static_cast<void>(owner.release());
  }

 private:
  struct Entry {
    Step begin;
    std::function<bool(bool)> advance;
    bool local;  // other ranks do not learn of its errors
  };
  bool advance(bool blocking);
  bool step_is_over(bool blocking);
  void attempt(const Entry& step, const std::function<void()>& body);

  std::shared_ptr<CollectiveOrder> turns_;
  CollectiveTicket turn_;
  std::vector<Entry> steps_;
  std::size_t next_ = 0;
  FirstFailure failure_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// IndexRun a collective of `count` elements for each rank, blocking or nonblocking. Each kind uses
// a separate communicator.
void broadcast_step(bool blocking, MPI_Request& request, const Communicator& group,
                    const Element& element, void* data, Index count, int root);
void gather_step(bool blocking, MPI_Request& request, const Communicator& group,
                 const Element& element, const void* mine, void* all, Index count, int root);
void all_gather_step(bool blocking, MPI_Request& request, const Communicator& group,
                     const Element& element, const void* mine, void* all, Index count);
void all_to_all_step(bool blocking, MPI_Request& request, const Communicator& group,
                     const Element& element, const void* sent, void* received, Index count);

}  // namespace impishim::darray
