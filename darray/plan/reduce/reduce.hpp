// SPDX-License-Identifier: Apache-2.0
/// Reductions of distributed arrays over all or some axes (Adlib's sum, sumDim, ...; d2o's
/// contractions), planned once.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "darray/communicator/collective_call.hpp"
#include "darray/plan/core/operators.hpp"
#include "darray/plan/gather/gather.hpp"

namespace impishim::darray {

/// The ranks that get the result of a reduction.
enum class Known {
  kOnMembers,   // the members of the array's grid, along the grid dimensions that the reduced axes
                // followed
  kEverywhere,  // all ranks of the communicator: for reductions over all axes
};

struct ReduceOptions {
  Known known = Known::kOnMembers;
  ScheduleOptions schedule = {};
  std::string operation = "reduction";  // name of the operation; the ranks compare it with the
                                        // arguments and report it if they differ
};

/// A reduction. Ranks are combined in ascending order, so one layout always gives the same bits. On
/// each rank, elements are combined pairwise. Ranks with an empty piece contribute nothing. Each
/// copy of a replicated array is reduced separately, which costs no message.
class ReducePlan {
 public:
  /// Plans a reduction over these axes. Collective over `comm`. Throws Error(kArgument) if an axis
  /// does not exist or is named twice. Throws Error(kLayout) if the distribution has ranks that
  /// `comm` does not have, and for kEverywhere if an axis is not reduced.
  ReducePlan(MPI_Comm comm, const Distribution& source, std::vector<int> axes,
             ReduceOperator operation, ReduceOptions options = {});
  /// Plans a reduction over all axes whose result is known everywhere.
  ReducePlan(MPI_Comm comm, const Distribution& source, ReduceOperator operation);
  ~ReducePlan();
  ReducePlan(ReducePlan&&) noexcept;
  ReducePlan& operator=(ReducePlan&&) noexcept;

  /// Returns the distribution of the result: the source's distribution without these axes and
  /// without ghosts, on the same grid. The grid dimensions that the axes followed now replicate. If
  /// the result is known everywhere, it has one element on each rank.
  const DistributionPtr& result() const;

  /// Executes the reduction. Collective over the communicator. `source` is a local buffer of the
  /// source's distribution. `destination` is a local buffer of result(), of accumulators. The mask
  /// is aligned with the source's owned elements.
  ///
  /// Throws Error(kShape) if the mask has a wrong length (with checks, on all ranks). Throws
  /// Error(kArgument) if a result has no elements and the operator has no value for that case
  /// (minimum, maximum, user's operators without identity). All ranks that share the result throw
  /// it. Throws Error(kMpi) if MPI fails.
  void execute(const void* source, void* destination, Mask mask = {});
  /// Starts an execution, which test() or wait() completes. start() does the local part. All ranks
  /// must start it in the same order as everything else that uses collectives: see ReduceSchedule.
  void start(const void* source, void* destination, Mask mask = {});
  bool test();
  void wait();

  const Statistics& statistics() const;

 private:
  friend class LocatePlan;
  struct State;
  // Executes the reduction as a part of another operation. `call` describes that operation, and
  // `check` checks its further arguments: the ranks agree on both by the one message that agrees on
  // the reduction.
  void execute(const void* source, void* destination, Mask mask,
               const std::function<CollectiveCall()>& call, const std::function<void()>& check);

  std::unique_ptr<State> state_;
};

enum class Extreme { kMin, kMax };

/// The smallest or largest element and its place. Of equal elements, the first in row-major order.
/// A NaN counts as the extreme.
class LocatePlan {
 public:
  /// Plans the search. Throws the errors of ReducePlan, and Error(kType) for complex elements.
  LocatePlan(MPI_Comm comm, const Distribution& source, std::vector<int> axes, Scalar scalar,
             Extreme extreme, ReduceOptions options = {});
  ~LocatePlan();
  LocatePlan(LocatePlan&&) noexcept;
  LocatePlan& operator=(LocatePlan&&) noexcept;

  const DistributionPtr& result() const;
  /// Executes the search. `values` and indices[k] are local buffers of result(): the extremes, and
  /// their global indices (labels) along axes[k], in the order of the constructor's list. Throws
  /// the errors of ReducePlan. Throws Error(kShape) if the number of index buffers is not the
  /// number of axes, and Error(kArgument) if a buffer is null although the rank has results: with
  /// checks, on all ranks if it is so on one.
  void execute(const void* source, void* values, const std::vector<Index*>& indices,
               Mask mask = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace impishim::darray
