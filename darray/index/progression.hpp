// SPDX-License-Identifier: Apache-2.0
/// Arithmetic on positions of sections, and lists of matched elements as arithmetic progressions.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "darray/index/index_run.hpp"
#include "darray/index/intersect.hpp"
#include "darray/index/structured_map.hpp"
#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// Returns the positions [first, second) of a section at which its numbers lie in [begin, end).
/// first == second if there are none.
[[nodiscard]] std::pair<Index, Index> positions_within(const Triplet& section, Index begin,
                                                       Index end);

/// Returns the elements of a section that a part of a block-cyclic map owns, block by block: runs
/// without gaps between their positions, in their order. Each block makes one run, so this is for
/// one period of the pattern or a short section.
[[nodiscard]] std::vector<IndexRun> block_runs(const BlockCyclicMap& map, int part,
                                               const Triplet& section);

/// Divides a run or overlap that occurs in each of several periods: `full` times, and once more if
/// it lies before `rest`. Calls use(first, count, repeats) for its pieces: positions of the period,
/// and the number of repetitions.
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

/// Returns matches, ordered by position, as progressions of three or more elements, or of two
/// neighbours.
[[nodiscard]] std::vector<Overlap> compress(const std::vector<Match>& matches);

}  // namespace impishim::darray
