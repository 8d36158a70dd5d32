// SPDX-License-Identifier: Apache-2.0
/// Broadcasts of the copies at one coordinate of a grid dimension, and of one element.
#pragma once

#include "darray/index/distribution.hpp"
#include "darray/schedule/tree_schedule.hpp"

namespace impishim::darray {

/// Makes the copies of a replicated array equal. Along a grid dimension that no axis follows, the
/// pieces at one coordinate replace those at all others. Ghosts do not change. The data of each
/// piece enters every other system once.
class BroadcastPlan {
 public:
  /// Collective over `comm`. Throws Error(kArgument) if the dimension or coordinate does not exist.
  /// Throws Error(kLayout) if an axis follows the dimension, or if the distribution has ranks that
  /// `comm` does not have.
  BroadcastPlan(MPI_Comm comm, const Distribution& distribution, int dimension, int coordinate,
                Element element, ScheduleOptions options = {});

  /// Broadcasts in place in `data`, the local buffer. Throws Error(kMpi) if MPI fails.
  void execute(void* data) { schedule_.execute(data, data); }
  /// Starts a broadcast. All ranks start broadcasts and other collectives in the same order: see
  /// ReduceSchedule.
  void start(void* data) { schedule_.start(data, data); }
  bool test() { return schedule_.test(); }
  void wait() { schedule_.wait(); }

  const Statistics& statistics() const { return schedule_.statistics(); }

 private:
  TreeSchedule schedule_;
};

/// Plans and executes one broadcast. Collective.
void broadcast(MPI_Comm comm, const Distribution& distribution, int dimension, int coordinate,
               Element element, void* data);

/// Sends one element of the array to all ranks of `comm`, as `value`. Collective, with the same
/// indices on all ranks. Throws Error(kKey) if the indices are outside of the array. Throws
/// Error(kArgument) if the indices differ (with checks).
void broadcast_element(MPI_Comm comm, const Distribution& distribution,
                       std::span<const Index> indices, Element element, const void* data,
                       void* value);

template <class T>
T broadcast_element(MPI_Comm comm, const Distribution& distribution, std::span<const Index> indices,
                    const T* data) {
  T value{};
  broadcast_element(comm, distribution, indices, element_of<T>(), data, &value);
  return value;
}

}  // namespace impishim::darray
