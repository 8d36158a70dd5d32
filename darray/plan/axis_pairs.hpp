/// The axes of a remap, two by two: which of the destination meets which of the source, and at which positions. Not for users.
#pragma once

#include <vector>

#include "darray/plan/remap.hpp"

namespace impishim::darray {

/// One side of a pair.
struct PairedAxis {
  DimMap map;
  Triplet section;
  int axis = kNoAxis;  ///< of the layout; kNoAxis: there is none, but one part of everybody that repeats its element
  static constexpr int kNoAxis = -1;
};

struct AxisPair {
  PairedAxis to;
  PairedAxis from;
};

/// The pairs of a remap, in the order of the destination's axes, then source axes that have one element. `complete`: every
/// destination element must have a source. Errors: as RemapPlan.
[[nodiscard]] std::vector<AxisPair> pair_axes(const RemapSide& destination, const RemapSide& source,
                                              const std::vector<int>& permutation, bool complete);

/// Whether a label of an axis may be several parts'.
[[nodiscard]] bool has_shared_labels(const DimMap& map);

}  // namespace impishim::darray
