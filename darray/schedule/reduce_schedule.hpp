// SPDX-License-Identifier: Apache-2.0
// Combining one contribution of every member (Adlib's RedxSchedule and Redx2Schedule), and
// exclusive prefixes.
#pragma once

#include <memory>
#include <vector>

#include "darray/schedule/schedule.hpp"

namespace impishim::darray {

enum class Reduction {
  kToOne,            // the root gets the combination of all
  kToAll,            // everybody does
  kExclusivePrefix,  // everybody gets the combination of the members before it; the first keeps
                     // what it has
  kInclusivePrefix   // and its own
};

/// A reduction over some ranks, element by element, planned once and run many times. Contributions
/// are combined in rank order: the result is ((c0 op c1) op c2) op ..., with the same bits on every
/// rank, and wherever the ranks run. The exception are long reductions that span systems, unless
/// ScheduleOptions::ordered is set. They are combined inside each system first, then in the order
/// of the systems' lowest ranks: so the operator must be commutative if systems do not follow each
/// other in rank order.
class ReduceSchedule {
 public:
  /// `members`: ranks that take part, ascending and the same list on each; empty: this rank takes
  /// no part. Collective over the communicator; disjoint groups work side by side. `source` and
  /// `destination` have equal sizes; `root` counts for kToOne alone. Errors: kArgument, kShape,
  /// kType.
  ReduceSchedule(const Communicator& communicator, Element element, std::vector<int> members,
                 const Selection& source, const Selection& destination, const Combiner& combine,
                 Reduction reduction = Reduction::kToAll, int root = 0,
                 ScheduleOptions options = {});
  ~ReduceSchedule();
  ReduceSchedule(ReduceSchedule&&) noexcept;
  ReduceSchedule& operator=(ReduceSchedule&&) noexcept;

  /// Source and destination may be the same buffer. All ranks call this one, or all start().
  /// Errors: kMpi, kArgument.
  void execute(const void* source, void* destination);
  /// In two parts. Of one communicator, executions that use collectives (this class's, those of
  /// trees, reductions, broadcasts, and remaps to replicated arrays) are started in the same order
  /// on all ranks, and may be tested and waited for in any: to wait for one is to wait for those
  /// that were started before as well.
  void start(const void* source, void* destination);
  bool test();
  void wait();

  const Statistics& statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// All members' values combined in rank order, on every rank: `count` elements side by side, in
/// place. Collective over the communicator.
void all_reduce(const Communicator& communicator, Element element, void* values, Index count,
                const Combiner& combine);

/// Each rank's `values` become the combination of those of the ranks before it; rank 0 keeps its
/// own. Collective.
void exclusive_prefix(const Communicator& communicator, Element element, void* values, Index count,
                      const Combiner& combine);

/// The same for one C++ value.
template <class T>
T all_reduce(const Communicator& communicator, T value, const Combiner& combine) {
  all_reduce(communicator, element_of<T>(), &value, 1, combine);
  return value;
}

}  // namespace impishim::darray
