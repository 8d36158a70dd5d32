// Broadcasts: of the copies at one coordinate along a dimension of a grid, and of one element.
#pragma once

#include "darray/index/distribution.hpp"
#include "darray/schedule/tree_schedule.hpp"

namespace impishim::darray {

/// Makes the copies of a replicated array equal: along a dimension of the grid that no axis
/// follows, the pieces at one coordinate become those at all others. Ghosts are left alone. Data
/// enters every other system once for each piece.
class BroadcastPlan {
 public:
  /// Collective over `comm`. Errors: kArgument for a dimension or coordinate that is not there,
  /// kLayout for a dimension that an axis follows, or a distribution with ranks that `comm` does
  /// not have.
  BroadcastPlan(MPI_Comm comm, const Distribution& distribution, int dimension, int coordinate,
                Element element, ScheduleOptions options = {});

  /// `data`: the local buffer, in place. Errors: kMpi.
  void execute(void* data) { schedule_.execute(data, data); }
  /// In the same order on all ranks as whatever else uses collectives: see ReduceSchedule.
  void start(void* data) { schedule_.start(data, data); }
  bool test() { return schedule_.test(); }
  void wait() { schedule_.wait(); }

  const Statistics& statistics() const { return schedule_.statistics(); }

 private:
  TreeSchedule schedule_;
};

/// The same once. Collective.
void broadcast(MPI_Comm comm, const Distribution& distribution, int dimension, int coordinate,
               Element element, void* data);

/// One element of the array, on all ranks of `comm`, as `value`. Collective; the same indices on
/// all. Errors: kKey for indices outside of the array, kArgument for indices that differ (with
/// checks).
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
