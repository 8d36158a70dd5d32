// Reductions of distributed arrays over all axes or some (Adlib's sum, sumDim, ...; d2o's
// contractions), planned once.
#pragma once

#include <memory>
#include <string>

#include "darray/plan/core/operators.hpp"
#include "darray/plan/gather/gather.hpp"

namespace impishim::darray {

/// Where the result of a reduction is known.
enum class Known {
  kOnMembers,  // on the members of the array's grid, along those of its dimensions that the reduced
               // axes followed
  kEverywhere,  // on all ranks of the communicator: for reductions over all axes
};

struct ReduceOptions {
  Known known = Known::kOnMembers;
  ScheduleOptions schedule = {};
  std::string operation = "reduction";  // its name, compared between ranks with the arguments and
                                        // told where they differ
};

/// A reduction. Ranks are combined in ascending order, so that results are the same bits for one
/// layout; on each rank, elements are combined pairwise. Ranks whose piece is empty do not count.
/// Of a replicated array each copy is reduced for itself, which costs no message.
class ReducePlan {
 public:
  /// Reduces these axes. Collective over `comm`. Errors: kArgument for an axis that is not there or
  /// named twice, kLayout for a distribution with ranks that `comm` does not have; and for
  /// kEverywhere when an axis is left.
  ReducePlan(MPI_Comm comm, const Distribution& source, std::vector<int> axes,
             ReduceOperator operation, ReduceOptions options = {});
  /// Over all axes, known everywhere.
  ReducePlan(MPI_Comm comm, const Distribution& source, ReduceOperator operation);
  ~ReducePlan();
  ReducePlan(ReducePlan&&) noexcept;
  ReducePlan& operator=(ReducePlan&&) noexcept;

  /// The source's distribution without these axes, and without ghosts: on the same grid, whose
  /// dimensions that they followed now replicate; or, known everywhere, one element on each rank.
  const DistributionPtr& result() const;

  /// Collective over the communicator. `source`: a local buffer of the source's distribution;
  /// `destination`: one of result(), of accumulators. The mask is aligned with the source's owned
  /// elements. Errors: kShape for a mask of another length, with checks on all ranks; kArgument for
  /// a result without elements when the operator has no value for it (minimum, maximum, user's
  /// operators without identity), on all ranks that share the result; kMpi.
  void execute(const void* source, void* destination, Mask mask = {});
  /// In two parts; the local part is done in start(). Started in the same order on all ranks as
  /// whatever else uses collectives: see ReduceSchedule.
  void start(const void* source, void* destination, Mask mask = {});
  bool test();
  void wait();

  const Statistics& statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

enum class Extreme { kMin, kMax };

/// The smallest or largest element and where it is: of equal ones the first in row-major order. A
/// NaN counts as the extreme.
class LocatePlan {
 public:
  /// As ReducePlan. Errors also: kType for complex elements.
  LocatePlan(MPI_Comm comm, const Distribution& source, std::vector<int> axes, Scalar scalar,
             Extreme extreme, ReduceOptions options = {});
  ~LocatePlan();
  LocatePlan(LocatePlan&&) noexcept;
  LocatePlan& operator=(LocatePlan&&) noexcept;

  const DistributionPtr& result() const;
  /// `values` and indices[k] are local buffers of result(): the extremes, and their global indices
  /// (labels) along axes[k], as the constructor's list has them. Errors: as ReducePlan; kShape for
  /// another number of index buffers than axes.
  void execute(const void* source, void* values, const std::vector<Index*>& indices,
               Mask mask = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace impishim::darray
