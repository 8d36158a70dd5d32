// SPDX-License-Identifier: Apache-2.0
// Collectives and local work one after the other, blocking or in the background. Not for users.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "darray/schedule/communicator.hpp"
#include "darray/schedule/element.hpp"
#include "darray/schedule/turns.hpp"

namespace impishim::darray {

/// Steps that are run in order. A step begins an operation, whose request may stay MPI_REQUEST_NULL
/// when it is over at once; or it is something that is started, tested and waited for. Operations
/// are those of communicators of groups.
///
/// Executions that use collectives are started in the same order on all ranks, and go on in this
/// order: see Turns. When local work throws, which a user's operator may, the other steps are run
/// all the same, since other ranks wait for them; then it is thrown.
class Sequence {
 public:
  using Step = std::function<void(bool blocking, MPI_Request& request)>;

  explicit Sequence(const Communicator& communicator)
      : turns_(communicator.turns()), turn_(turns_) {}

  void add(Step begin) { steps_.push_back({std::move(begin), {}, false}); }
  void add_local(std::function<void()> work) {
    steps_.push_back({[work = std::move(work)](bool, MPI_Request&) { work(); }, {}, true});
  }
  /// `begin(blocking)` begins, or does it all; `advance(blocking)` goes on and says whether it is
  /// over.
  void add_nested(std::function<void(bool)> begin, std::function<bool(bool)> advance) {
    steps_.push_back({[begin = std::move(begin)](bool blocking, MPI_Request&) { begin(blocking); },
                      std::move(advance), true});
  }

  /// Runs all steps; blocking operations are used, which are faster than nonblocking ones, and do
  /// not match these.
  void run();
  /// Begins; test() and wait() go on. Errors: kArgument when it is under way.
  void start();
  bool test() { return turn_.advance(false); }
  void wait() { turn_.advance(true); }
  /// Errors: kArgument when it is under way.
  void require_idle() const {
    if (turn_.under_way())
      fail(ErrorKind::kArgument, "an execution of this schedule is under way: wait for it first");
  }
  /// Before the owner of an execution that nobody has waited for is destroyed: it leaves its place,
  /// and the owner's memory, in which MPI still reads and writes, is given up.
  template <class Owner>
  void abandon(std::unique_ptr<Owner>& owner) {
    if (!turn_.under_way()) return;
    turn_ = Turn(turns_);
    static_cast<void>(owner.release());
  }

 private:
  struct Entry {
    Step begin;
    std::function<bool(bool)> advance;
    bool local;  // other ranks do not learn what goes wrong in it
  };
  bool advance(bool blocking);
  bool step_is_over(bool blocking);
  void attempt(const Entry& step, const std::function<void()>& body);

  std::shared_ptr<Turns> turns_;
  Turn turn_;
  std::vector<Entry> steps_;
  std::size_t next_ = 0;
  FirstFailure failure_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// Collectives of `count` elements for each rank, blocking or begun: each kind on a communicator of
// its own.
void broadcast_step(bool blocking, MPI_Request& request, const Communicator& group,
                    const Element& element, void* data, Index count, int root);
void gather_step(bool blocking, MPI_Request& request, const Communicator& group,
                 const Element& element, const void* mine, void* all, Index count, int root);
void all_gather_step(bool blocking, MPI_Request& request, const Communicator& group,
                     const Element& element, const void* mine, void* all, Index count);
void all_to_all_step(bool blocking, MPI_Request& request, const Communicator& group,
                     const Element& element, const void* sent, void* received, Index count);

}  // namespace impishim::darray
