// SPDX-License-Identifier: Apache-2.0
/// Arithmetic on positions of sections, and lists of matched elements as arithmetic progressions.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "darray/index/intersect.hpp"
#include "darray/index/run.hpp"
#include "darray/index/structured_map.hpp"
#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// The positions [first, second) of a section at which its numbers lie in [begin, end); first ==
/// second if there are none.
[[nodiscard]] std::pair<Index, Index> positions_within(const Triplet& section, Index begin,
                                                       Index end);

/// What a part of a block-cyclic map owns of a section, block by block: runs without gaps between
/// their positions, in their order. Each block makes one run, so that this is for one period of the
/// pattern or a short section.
[[nodiscard]] std::vector<Run> block_runs(const BlockCyclicMap& map, int part,
                                          const Triplet& section);

/// A run or overlap that occurs from the first of several periods on: `full` times, and once more
/// if it lies before `rest`. Calls use(first, count, repeats) for its pieces: positions of the
/// period, and how often they occur.
template <class Use>
void cut_at_rest(Index position, Index count, Index full, Index rest, const Use& use) {
  const Index before = std::min(count, std::max<Index>(0, rest - position));
  if (before > 0) use(position, before, full + 1);
  if (before < count && full > 0) use(position + before, count - before, full);
}

/// Two local elements at one position.
struct Match {
  Index position = 0;
  Index a = 0;
  Index b = 0;
};

/// Matches, by ascending position, as progressions of three or more, or of two neighbours.
[[nodiscard]] std::vector<Overlap> compress(const std::vector<Match>& matches);

}  // namespace impishim::darray
