// SPDX-License-Identifier: Apache-2.0
/// The cells of one part's buffer along an axis, and the owners of the cells that they stand for.
/// Halo exchanges are built from them. Not for users.
#pragma once

#include <cstdint>
#include <vector>

#include "darray/plan/halo/halo.hpp"

namespace impishim::darray {

/// Adjacent cells. Local indices count from the part's first owned cell, so lower ghosts have
/// negative indices.
struct HaloRun {
  enum class Kind : std::uint8_t { kOwned, kCopied, kFilled };
  Kind kind = Kind::kOwned;
  Index local = 0;
  Index count = 0;
  int owner = 0;          // the part that owns the cells; unused for kFilled
  Index owner_local = 0;  // index of the first cell in the owner's part
};

/// Returns all cells of a part along an axis that are owned or that this mode writes. Owned cells
/// that are also written (boundaries of periodic axes) count as copied. Throws Error(kLayout) if
/// widths exceed the allocated ghosts. Throws Error(kUnsupported) for a periodic boundary on a map
/// whose parts are not blocks.
[[nodiscard]] std::vector<HaloRun> halo_runs(const Distribution& layout, int axis, int part,
                                             const HaloAxis& halo);

}  // namespace impishim::darray
