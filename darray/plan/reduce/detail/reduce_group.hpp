// Who reduces together, what each rank brings, and what comes out. Not for users.
#pragma once

#include <vector>

#include "darray/plan/core/detail/owned_part.hpp"
#include "darray/plan/core/operators.hpp"
#include "darray/plan/reduce/reduce.hpp"

namespace impishim::darray {

/// The plan of a reduction but for its operator; the same work for any rank, without messages.
struct ReduceGroup {
  /// Errors: as ReducePlan.
  ReduceGroup(const Distribution& source, std::vector<int> axes, Known known, int rank, int ranks);

  DistributionPtr result;
  std::vector<int> axes;
  std::vector<int>
      members;  // ranks that share this one's results, ascending; none if it has no part in it
  std::vector<int> contributors;  // those of them that bring elements
  bool alone = false;  // on every rank, the only member is itself: there is nothing to exchange
  bool contributes = false;

  OwnedPart part;                // of the source
  ReducePiece piece;             // of the source; other strides are those of a mask
  Index results = 0;             // elements of the result on this rank
  std::vector<bool> is_reduced;  // for each axis of the source
};

/// Two aligned pieces as one: strides of the first, others those of the second.
ReducePiece reduce_piece(const OwnedPart& first, const std::vector<Index>& other_strides,
                         const std::vector<bool>& is_reduced);

}  // namespace impishim::darray
