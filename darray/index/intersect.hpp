// SPDX-License-Identifier: Apache-2.0
/// Which elements of one map's part are which elements of another map's part: the intersections
/// that plans are made of.
#pragma once

#include <vector>

#include "darray/index/dim_map.hpp"
#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// Elements at the same positions of two sections: for 0 <= i < repeats and 0 <= j < count,
/// position position + i * position_period + j * position_step is local element local_a + i *
/// period_a + j * step_a of the one part and local_b + i * period_b + j * step_b of the other.
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

/// What part_a of map a has of section_a, and part_b of map b of the same positions of section_b.
/// The two sections have the same count; every common position is in exactly one overlap. The order
/// depends on the arguments alone, so that two processes that ask the same question list the
/// elements in the same order. Costs: constant for two block maps; one period of the pattern where
/// a block-cyclic map takes part; the labels of the two parts for unstructured maps.
/// @throws Error kArgument for sections of different counts, and what DimMap::runs() throws.
[[nodiscard]] std::vector<Overlap> overlaps(const DimMap& a, int part_a, const Triplet& section_a,
                                            const DimMap& b, int part_b, const Triplet& section_b);

/// The parts of map b that have at least one element in common with part_a of map a, ascending. It
/// does not look at the others: for block maps the cost is in the number of partners.
/// @throws as overlaps().
[[nodiscard]] std::vector<int> partners(const DimMap& a, int part_a, const Triplet& section_a,
                                        const DimMap& b, const Triplet& section_b);

}  // namespace impishim::darray
