/// The cells of one part's buffer along an axis, and whose cells they stand for: what halo
/// exchanges are made of. Not for users.
#pragma once

#include <cstdint>
#include <vector>

#include "darray/plan/halo/halo.hpp"

namespace impishim::darray {

/// Neighbouring cells. Local indices count from the part's first owned cell, so that lower ghosts
/// are negative.
struct HaloRun {
  enum class Kind : std::uint8_t { kOwned, kCopied, kFilled };
  Kind kind = Kind::kOwned;
  Index local = 0;
  Index count = 0;
  int owner = 0;          // the part that has the cells; of what is filled, none
  Index owner_local = 0;  // there
};

/// All cells of a part along an axis that are owned or written in this mode; owned ones that are
/// written as well (boundaries of periodic axes) count as copied. Errors: kLayout for widths above
/// the allocated ghosts, kUnsupported for a periodic boundary on a map whose parts are no blocks.
[[nodiscard]] std::vector<HaloRun> halo_runs(const Distribution& layout, int axis, int part,
                                             const HaloAxis& halo);

}  // namespace impishim::darray
