// SPDX-License-Identifier: Apache-2.0
/// Cumulative sums and other prefixes of distributed arrays (d2o's cumsum).
#pragma once

#include <memory>

#include "darray/plan/core/operators.hpp"
#include "darray/plan/reduce/reduce.hpp"

namespace impishim::darray {

/// Selects whether the result of an element includes the element itself.
enum class ScanRange { kInclusive, kExclusive };

struct ScanOptions {
  ScanRange range = ScanRange::kInclusive;
  ScheduleOptions schedule = {};
};

/// destination[.., x, ..] = source[.., 0, ..] op ... op source[.., x, ..] along an axis, or over
/// the whole array in row-major order. Works for any distribution. If the parts of an axis are not
/// blocks, one accumulator is exchanged for each stretch of consecutive indices; for cyclic axes,
/// that is one for each element. Unstructured axes are scanned by ascending label.
class ScanPlan {
 public:
  /// Plans a scan along an axis, or a flat scan if there is no axis. Collective over `comm`. Throws
  /// Error(kArgument) if the axis does not exist or the operator has no identity. Throws
  /// Error(kLayout) if the distribution has ranks that `comm` does not have. Throws
  /// Error(kUnsupported) for labels with several owners.
  ScanPlan(MPI_Comm comm, const Distribution& distribution, std::optional<int> axis,
           ReduceOperator operation, ScanOptions options = {});
  ~ScanPlan();
  ScanPlan(ScanPlan&&) noexcept;
  ScanPlan& operator=(ScanPlan&&) noexcept;

  /// Returns the distribution of the result, of accumulators: the source's distribution without
  /// ghosts.
  const DistributionPtr& result() const;

  /// Executes the scan. `source` is a local buffer of the source's distribution, `destination` one
  /// of result(). They may be the same buffer if elements and accumulators have the same type and
  /// there are no ghosts. Throws Error(kMpi) if MPI fails.
  void execute(const void* source, void* destination);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Computes sums along an axis, or flat, once. `destination` has no ghosts. Collective. Throws the
/// errors of ScanPlan.
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
