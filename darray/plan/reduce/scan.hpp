// Cumulative sums and other prefixes of distributed arrays (d2o's cumsum).
#pragma once

#include <memory>

#include "darray/plan/core/operators.hpp"
#include "darray/plan/reduce/reduce.hpp"

namespace impishim::darray {

/// Which elements come before an element.
enum class ScanRange { kInclusive, kExclusive };

struct ScanOptions {
  ScanRange range = ScanRange::kInclusive;
  ScheduleOptions schedule = {};
};

/// destination[.., x, ..] = source[.., 0, ..] op ... op source[.., x, ..] along an axis, or over
/// the whole array in row-major order. Any distribution: where an axis is not dealt out in blocks,
/// one accumulator for each stretch of consecutive indices is exchanged, of cyclic axes as many as
/// elements. Unstructured axes are scanned by ascending label.
class ScanPlan {
 public:
  /// Along an axis, or flat if there is none. Collective over `comm`. Errors: kArgument for an axis
  /// that is not there; kLayout for a distribution with ranks that `comm` does not have;
  /// kUnsupported for labels with several owners; kArgument for an operator without an identity.
  ScanPlan(MPI_Comm comm, const Distribution& distribution, std::optional<int> axis,
           ReduceOperator operation, ScanOptions options = {});
  ~ScanPlan();
  ScanPlan(ScanPlan&&) noexcept;
  ScanPlan& operator=(ScanPlan&&) noexcept;

  /// Of accumulators: the source's distribution without ghosts.
  const DistributionPtr& result() const;

  /// `source`: a local buffer of the source's distribution; `destination`: one of result(). They
  /// may be the same buffer when elements and accumulators have one type and there are no ghosts.
  /// Errors: kMpi.
  void execute(const void* source, void* destination);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One-shot sums along an axis, or flat. `destination` is without ghosts. Collective. Errors: as
/// ScanPlan.
template <class T, class Sum>
void cumulative_sum(MPI_Comm comm, const Distribution& distribution, const T* source,
                    std::optional<int> axis, Sum* destination) {
  ReduceOperator operation = reduce_operator(Reducer::kSum, scalar_of<T>());
  if (operation.accumulator.scalar != scalar_of<Sum>()) {
    fail(ErrorKind::kType, "sums of {} are of type {}, not {}", name_of(scalar_of<T>()),
         name_of(operation.accumulator.scalar), name_of(scalar_of<Sum>()));
  }
  ScanPlan(comm, distribution, axis, std::move(operation)).execute(source, destination);
}

}  // namespace impishim::darray
