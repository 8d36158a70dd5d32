/// The axes of a remap, two by two: which of the destination meets which of the source, and at
/// which positions. Not for users.
#pragma once

#include <vector>

#include "darray/index/intersect.hpp"
#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {

/// One side of a pair.
struct PairedAxis {
  DimMap map;
  Triplet section;
  int axis = kNoAxis;  ///< of the layout; kNoAxis: there is none, but one part of everybody that
                       ///< repeats its element
  static constexpr int kNoAxis = -1;
};

struct AxisPair {
  PairedAxis to;
  PairedAxis from;
};

/// The pairs of a remap, in the order of the destination's axes, then source axes that have one
/// element. `complete`: every destination element must have a source. Errors: as RemapPlan.
[[nodiscard]] std::vector<AxisPair> pair_axes(const RemapSide& destination, const RemapSide& source,
                                              const std::vector<int>& permutation, bool complete);

/// What a part of the source (the first end) and one of the destination have in common along a
/// pair. `lowest_label_only`: of a label that several source parts have, only the lowest part's
/// element counts.
[[nodiscard]] std::vector<Overlap> common_elements(const AxisPair& pair, int from_part, int to_part,
                                                   bool lowest_label_only);

/// Whether a label of an axis may be several parts'.
[[nodiscard]] bool has_shared_labels(const DimMap& map);

}  // namespace impishim::darray
