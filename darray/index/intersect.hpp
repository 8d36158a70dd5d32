// SPDX-License-Identifier: Apache-2.0
/// The elements that parts of two maps have in common. Plans consist of these intersections.
#pragma once

#include <vector>

#include "darray/index/dim_map.hpp"
#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// Elements at the same positions of two sections. For 0 <= i < repeats and 0 <= j < count,
/// position (position + i * position_period + j * position_step) is local element (local_a + i *
/// period_a + j * step_a) of the first part and (local_b + i * period_b + j * step_b) of the
/// second.
struct Overlap {
  Index position = 0;
  Index count = 0;
  Index position_step = 1;
  Index local_a = 0;
  Index step_a = 1;
  Index local_b = 0;
  Index step_b = 1;
  Index repeats = 1;
  Index position_period = 0;
  Index period_a = 0;
  Index period_b = 0;

  [[nodiscard]] Index elements() const { return count * repeats; }
  bool operator==(const Overlap&) const = default;
};

/// Returns the positions that part_a of map a has in section_a and part_b of map b has in
/// section_b. The two sections have the same count, and every common position is in exactly one
/// overlap. The order depends on the arguments alone, so that two processes that ask the same
/// question list the elements in the same order. The cost is constant for two block maps; it is
/// that of one period of the pattern if a block-cyclic map takes part, and that of the labels of
/// both parts for unstructured maps.
/// @throws Error kArgument for sections of different counts, and what DimMap::runs() throws.
[[nodiscard]] std::vector<Overlap> overlaps(const DimMap& a, int part_a, const Triplet& section_a,
                                            const DimMap& b, int part_b, const Triplet& section_b);

/// Returns the parts of map b that have at least one element in common with part_a of map a,
/// ascending. Does not visit the others, so for block maps the cost is proportional to the number
/// of partners.
/// @throws as overlaps().
[[nodiscard]] std::vector<int> partners(const DimMap& a, int part_a, const Triplet& section_a,
                                        const DimMap& b, const Triplet& section_b);

}  // namespace impishim::darray
