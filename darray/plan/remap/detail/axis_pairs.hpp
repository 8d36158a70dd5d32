// SPDX-License-Identifier: Apache-2.0
/// The axes of a remap in pairs: a destination axis with its source axis, and the positions that
/// they share. Not for users.
#pragma once

#include <vector>

#include "darray/index/intersect.hpp"
#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {

/// One side of a pair.
struct PairedAxis {
  DimMap map;
  Triplet section;
  int axis = kNoAxis;  ///< of the layout; kNoAxis: no axis, but one part that all ranks have, and
                       ///< that repeats its element
  static constexpr int kNoAxis = -1;
};

struct AxisPair {
  PairedAxis to;
  PairedAxis from;
};

/// Returns the pairs of a remap in the order of the destination's axes, followed by the source axes
/// that take part with one element. With `complete`, every destination element must have a source.
/// Throws the errors of RemapPlan.
[[nodiscard]] std::vector<AxisPair> pair_axes(const RemapSide& destination, const RemapSide& source,
                                              const std::vector<int>& permutation, bool complete);

/// Returns the elements that a source part (end a) and a destination part share along a pair. With
/// `lowest_label_only`, if several source parts have a label, only the lowest part's element
/// counts.
[[nodiscard]] std::vector<Overlap> common_elements(const AxisPair& pair, int from_part, int to_part,
                                                   bool lowest_label_only);

/// Returns true if several parts may have the same label of an axis.
[[nodiscard]] bool has_shared_labels(const DimMap& map);

}  // namespace impishim::darray
