/// Which process should play which part of a new layout, so that as little as possible moves
/// (COSTA's relabelling).
#pragma once

#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {

struct RelabelOptions {
  std::vector<int> permutation = {};  ///< of the axes, as RemapOptions::permutation
  /// What an element counts that moves to another system, against one that moves inside of one.
  double crossing_weight = 1;
  /// Up to so many processes the best assignment is found (Hungarian method, cubic time), above a
  /// good one (greedy).
  int exact_up_to = 256;
};

/// A layout that differs from the one it is made of in the order of its grid's members alone.
struct Relabelling {
  std::vector<int> members;  ///< the process for each place of the destination's grid
  DistributionPtr layout;    ///< the destination's layout with them
  Index elements = 0;        ///< moved or not, all copies counted
  Index moved_before = 0;    ///< between processes, when the destination is taken as it is
  Index moved_after = 0;
};

/// The processes of the destination's grid, rearranged for a remap from `source`. Never worse than
/// the order it has. Local work: every rank finds the same. Errors: kShape when the shapes differ;
/// as RemapPlan.
[[nodiscard]] Relabelling relabel(const Systems& systems, const RemapSide& destination,
                                  const RemapSide& source, const RelabelOptions& options = {});

/// The assignment of columns to rows with the lowest total cost, for a square matrix (row-major):
/// assignment[row] = column. Hungarian method by shortest augmenting paths, O(n^3).
[[nodiscard]] std::vector<int> cheapest_assignment(const std::vector<double>& costs, int size);

}  // namespace impishim::darray
