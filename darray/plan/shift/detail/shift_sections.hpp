// SPDX-License-Identifier: Apache-2.0
/// A shift along an axis, as sections that move and one section that is filled. Not for users.
#pragma once

#include <vector>

#include "darray/plan/shift/shift.hpp"

namespace impishim::darray {

struct ShiftedSections {
  struct Move {
    Triplet to;
    Triplet from;
  };
  std::vector<Move> moves;
  Triplet fill;  // empty except in fill mode
};

/// Returns the sections of destination[x] = source[x + amount] on an axis of this extent.
[[nodiscard]] ShiftedSections shifted_sections(Index extent, Index amount, ShiftMode mode);

/// Throws Error(kUnsupported) for sections and unstructured axes, Error(kArgument) if the axis does
/// not exist, and Error(kShape) if the shapes differ.
void check_shift(const RemapSide& destination, const RemapSide& source, int axis);

}  // namespace impishim::darray
