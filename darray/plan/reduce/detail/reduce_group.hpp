// SPDX-License-Identifier: Apache-2.0
/// The ranks that reduce together, the elements of each rank, and the results. Not for users.
#pragma once

#include <vector>

#include "darray/plan/core/detail/owned_part.hpp"
#include "darray/plan/core/operators.hpp"
#include "darray/plan/reduce/reduce.hpp"

namespace impishim::darray {

/// The plan of a reduction without its operator. Any rank's plan takes the same work, without
/// messages.
struct ReduceGroup {
  /// Throws the errors of ReducePlan.
  ReduceGroup(const Distribution& source, std::vector<int> axes, Known known, int rank, int ranks);

  DistributionPtr result;
  std::vector<int> axes;
  std::vector<int>
      members;  // ranks that share this rank's results, ascending; empty if it has no part in them
  std::vector<int> contributors;  // the members that have elements
  bool alone = false;             // on every rank, the rank is the only member: nothing to exchange
  bool contributes = false;

  OwnedPart part;                // of the source
  ReducePiece piece;             // of the source; `other` strides are for a mask
  Index results = 0;             // number of elements of the result on this rank
  std::vector<bool> is_reduced;  // for each axis of the source
};

/// Combines two aligned pieces into one. Its strides are those of the first piece, its `other`
/// strides those of the second.
ReducePiece reduce_piece(const OwnedPart& first, const std::vector<Index>& other_strides,
                         const std::vector<bool>& is_reduced);

}  // namespace impishim::darray
