/// Planning remaps whose destination need not be covered. Not for users.
#pragma once

#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {

/// As plan_remap(); unless `complete`, destination elements without a source are left as they are.
[[nodiscard]] RankPlan plan_remap_with(int rank, const Systems& systems,
                                       const RemapSide& destination, const RemapSide& source,
                                       const RemapOptions& options, bool complete);

}  // namespace impishim::darray
