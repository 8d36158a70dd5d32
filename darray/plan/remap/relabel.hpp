// SPDX-License-Identifier: Apache-2.0
/// The assignment of processes to the parts of a new layout so that as little data as possible
/// moves (COSTA's relabelling).
#pragma once

#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {

struct RelabelOptions {
  std::vector<int> permutation = {};  ///< of the axes, as RemapOptions::permutation
  /// The cost of an element that moves to another system, relative to one that moves inside a
  /// system.
  double crossing_weight = 1;
  /// Up to this number of processes, the best assignment is computed (Hungarian method, cubic
  /// time). Above it, a greedy method computes a good one.
  int exact_up_to = 256;
};

/// A layout that differs from the original only in the order of its grid's members.
struct Relabelling {
  std::vector<int> members;  ///< the process for each place of the destination's grid
  DistributionPtr layout;    ///< the destination's layout with these members
  Index elements = 0;        ///< all elements, moved or not, in all copies
  Index moved_before = 0;    ///< elements that move between processes with the original destination
  Index moved_after = 0;
};

/// Reorders the processes of the destination's grid for a remap from `source`. The result is never
/// worse than the original order. Local work: every rank computes the same result. Throws
/// Error(kShape) if the shapes differ, and the errors of RemapPlan.
[[nodiscard]] Relabelling relabel(const Systems& systems, const RemapSide& destination,
                                  const RemapSide& source, const RelabelOptions& options = {});

/// Returns the assignment of columns to rows with the lowest total cost, for a square matrix
/// (row-major): assignment[row] = column. Uses the Hungarian method by shortest augmenting paths,
/// O(n^3).
[[nodiscard]] std::vector<int> cheapest_assignment(const std::vector<double>& costs, int size);

}  // namespace impishim::darray
