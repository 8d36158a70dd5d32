// SPDX-License-Identifier: Apache-2.0
/// Reductions, which combine one contribution of every member (Adlib's RedxSchedule and
/// Redx2Schedule), and prefixes.
#pragma once

#include <memory>
#include <vector>

#include "darray/schedule/schedule.hpp"

namespace impishim::darray {

enum class Reduction {
  kToOne,            // the root gets the combination of all contributions
  kToAll,            // every member gets it
  kExclusivePrefix,  // every member gets the combination of the members before it; the first
                     // member keeps what it has
  kInclusivePrefix   // the same, with the member's own contribution
};

/// A reduction over some ranks, element by element, which is planned once and run many times.
///
/// Contributions are combined in rank order: the result is ((c0 op c1) op c2) op .... It has the
/// same bits on every rank, whichever systems the ranks run on.
///
/// The exception is a long reduction that spans systems, unless ScheduleOptions::ordered is set. It
/// is combined inside each system first, then in the order of the systems' lowest ranks. So the
/// operator must be commutative if the systems do not follow each other in rank order.
class ReduceSchedule {
 public:
  /// `members` lists the ranks that take part. It is ascending and the same on each member; an
  /// empty list means that this rank takes no part. Collective over the communicator; disjoint
  /// groups work side by side. `source` and `destination` have equal sizes. `root` matters for
  /// kToOne only. Throws Error(kArgument), Error(kShape) or Error(kType) if an argument is invalid.
  ReduceSchedule(const Communicator& communicator, Element element, std::vector<int> members,
                 const Selection& source, const Selection& destination, const Combiner& combine,
                 Reduction reduction = Reduction::kToAll, int root = 0,
                 ScheduleOptions options = {});
  ~ReduceSchedule();
  ReduceSchedule(ReduceSchedule&&) noexcept;
  ReduceSchedule& operator=(ReduceSchedule&&) noexcept;

  /// Runs the reduction. Source and destination may be the same buffer. All ranks call execute(),
  /// or all call start(). Throws Error(kMpi) if an MPI call fails. Throws Error(kArgument) if an
  /// execution is in progress.
  void execute(const void* source, void* destination);
  /// Starts an execution, which test() or wait() completes.
  ///
  /// Several executions that use collectives may be in progress on one communicator. They are those
  /// of this class, of trees, reductions and broadcasts, and of remaps to replicated arrays. All
  /// ranks must start them in the same order, but may test and wait for them in any order. To wait
  /// for one execution also waits for those that were started before it.
  void start(const void* source, void* destination);
  bool test();
  void wait();

  const Statistics& statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Combines all members' values in rank order, on every rank. `values` holds `count` elements side
/// by side; the result replaces them. Collective over the communicator.
void all_reduce(const Communicator& communicator, Element element, void* values, Index count,
                const Combiner& combine);

/// Replaces each rank's `values` by the combination of the values of the ranks before it. Rank 0
/// keeps its own values. Collective.
void exclusive_prefix(const Communicator& communicator, Element element, void* values, Index count,
                      const Combiner& combine);

/// Does the same for one C++ value.
template <class T>
T all_reduce(const Communicator& communicator, T value, const Combiner& combine) {
  all_reduce(communicator, element_of<T>(), &value, 1, combine);
  return value;
}

}  // namespace impishim::darray
