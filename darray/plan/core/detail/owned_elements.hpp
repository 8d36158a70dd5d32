// SPDX-License-Identifier: Apache-2.0
/// Lists the elements of a section that a part owns, as overlaps. Not for users.
#pragma once

#include <vector>

#include "darray/index/dim_map.hpp"
#include "darray/index/intersect.hpp"

namespace impishim::darray {

/// Returns the part's elements of the section as end a of overlaps. End b is not set: the elements
/// are only numbered there.
[[nodiscard]] inline std::vector<Overlap> owned_elements(const DimMap& map, int part,
                                                         const Triplet& section) {
  std::vector<Overlap> own;
  for (const auto& [run, repeats, position_period, local_period] :
       map.repeated_runs(part, section)) {
    Overlap overlap;
    overlap.position = run.position;
    overlap.count = run.count;
    overlap.position_step = run.position_step;
    overlap.local_a = run.local;
    overlap.step_a = run.local_step;
    overlap.repeats = repeats;
    overlap.position_period = position_period;
    overlap.period_a = local_period;
    own.push_back(overlap);
  }
  return own;
}

}  // namespace impishim::darray
