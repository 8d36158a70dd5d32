/// A shift along an axis as sections that move and one that is filled. Not for users.
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
  Triplet fill;  // empty but in fill mode
};

/// destination[x] = source[x + amount] on an axis of that extent.
[[nodiscard]] ShiftedSections shifted_sections(Index extent, Index amount, ShiftMode mode);

/// Errors: kUnsupported for sections and unstructured axes, kArgument for an axis that is not
/// there.
void check_shift(const RemapSide& destination, const RemapSide& source, int axis);

}  // namespace impishim::darray
