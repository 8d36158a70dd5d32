// SPDX-License-Identifier: Apache-2.0
// One rank's elements for many (Adlib's TreeSchedule).
#pragma once

#include <memory>
#include <vector>

#include "darray/schedule/schedule.hpp"

namespace impishim::darray {

/// Waits until all ranks of the communicator are here. Collective. Errors: kMpi.
void barrier(const Communicator& communicator);

/// Broadcast and multicast of elements, planned once. Forwards the root's source elements become
/// the destination elements of every member, by a tree in which data enters every other system
/// once. Backwards the members' destination elements are combined, in rank order, into the root's
/// source elements.
class TreeSchedule {
 public:
  /// `members`: ranks that take part, the root among them, ascending and the same list on each;
  /// ranks of other lists, or of none, may construct theirs at the same time: collective over the
  /// communicator, and disjoint trees work side by side. `source` counts on the root, `destination`
  /// on every member: equal sizes. The root's own destination is copied unless `destination` is
  /// empty there. Errors: kArgument, kShape.
  TreeSchedule(const Communicator& communicator, Element element, int root,
               std::vector<int> members, const Selection& source, const Selection& destination,
               ScheduleOptions options = {});
  ~TreeSchedule();
  TreeSchedule(TreeSchedule&&) noexcept;
  TreeSchedule& operator=(TreeSchedule&&) noexcept;

  /// `source` is read on the root only, `destination` written on members. All members call
  /// execute(), or all start(), and this in the same order as whatever else uses collectives: see
  /// ReduceSchedule. Errors: kMpi, kArgument.
  void execute(const void* source, void* destination);
  /// Combines the members' destination elements; the root's source elements become the result (they
  /// do not enter it). Errors: kType; kUnsupported when the root has no destination elements, with
  /// checks on all members.
  void execute_backward(void* source, const void* destination, const Combiner& combine);
  void start(const void* source, void* destination);
  bool test();
  void wait();

  /// Of a forward execution. Messages are those of a binomial tree in each system, joined by one
  /// message to every other system.
  const Statistics& statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace impishim::darray
