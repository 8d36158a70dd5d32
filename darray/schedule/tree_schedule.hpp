// SPDX-License-Identifier: Apache-2.0
/// Schedules that send one rank's elements to many ranks (Adlib's TreeSchedule).
#pragma once

#include <memory>
#include <vector>

#include "darray/schedule/schedule.hpp"

namespace impishim::darray {

/// Blocks until all ranks of the communicator have called it. Collective. Throws Error(kMpi) if an
/// MPI call fails.
void barrier(const Communicator& communicator);

/// A broadcast or multicast of elements, which is planned once. A forward execution copies the
/// root's source elements to the destination elements of every member. It uses a tree in which data
/// enters every other system once. A backward execution combines the members' destination elements,
/// in rank order, into the root's source elements.
class TreeSchedule {
 public:
  /// `members` lists the ranks that take part, including the root. It is ascending and the same on
  /// each member. Ranks of other lists, or of none, may construct their schedules at the same time:
  /// the constructor is collective over the communicator, and disjoint trees work side by side.
  /// `source` matters on the root only, `destination` on every member; both have equal sizes. The
  /// root's own destination is copied unless `destination` is empty there. Throws Error(kArgument)
  /// or Error(kShape) if an argument is invalid.
  TreeSchedule(const Communicator& communicator, Element element, int root,
               std::vector<int> members, const Selection& source, const Selection& destination,
               ScheduleOptions options = {});
  ~TreeSchedule();
  TreeSchedule(TreeSchedule&&) noexcept;
  TreeSchedule& operator=(TreeSchedule&&) noexcept;

  /// Runs the broadcast. `source` is read on the root only; `destination` is written on the
  /// members. All members call execute(), or all call start(), in the same order as other
  /// executions that use collectives; see ReduceSchedule. Throws Error(kMpi) if an MPI call fails.
  /// Throws Error(kArgument) if an execution is in progress.
  void execute(const void* source, void* destination);
  /// Combines the members' destination elements. The result replaces the root's source elements,
  /// which do not enter it. Throws Error(kType) if the operator does not exist for the elements'
  /// type. Throws Error(kUnsupported) if the root has no destination elements; with checks all
  /// members throw it.
  void execute_backward(void* source, const void* destination, const Combiner& combine);
  void start(const void* source, void* destination);
  bool test();
  void wait();

  /// The statistics of a forward execution. Its messages are those of a binomial tree in each
  /// system, plus one message from the root to every other system.
  const Statistics& statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace impishim::darray
