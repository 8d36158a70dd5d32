// SPDX-License-Identifier: Apache-2.0
#include "darray/index/progression.hpp"

#include <algorithm>

namespace impishim::darray {

namespace {

/// Returns the quotient of two positive numbers, rounded up.
Index ceiling(Index numerator, Index denominator) { return (numerator - 1) / denominator + 1; }

/// Enumerates blocks one by one, in the direction of the section.
void add_by_blocks(const BlockCyclicMap& map, int part, const Triplet& section,
                   std::vector<IndexRun>& runs) {
  const Triplet upwards = section.ascending();
  const Index mine = map.first_block(part);
  const Index low = upwards.start / map.block();
  const Index high = upwards.last() / map.block();
  const Index first = low <= mine ? mine : mine + ceiling(low - mine, map.parts()) * map.parts();
  if (first > high) return;
  const Index blocks = (high - first) / map.parts() + 1;
  for (Index i = 0; i < blocks; ++i) {
    const Index number = first + (section.step > 0 ? i : blocks - 1 - i) * map.parts();
    const Index begin = number * map.block();
    const auto [from, to] = positions_within(section, begin, begin + map.block());
    if (from == to) continue;
    const Index step = to - from == 1 ? 1 : section.step;
    runs.push_back({from, to - from, 1, map.local(part, section.at(from)), step});
  }
}

/// Returns true if three matches are in arithmetic progression.
bool in_step(const Match& x, const Match& y, const Match& z) {
  return y.position - x.position == z.position - y.position && y.a - x.a == z.a - y.a &&
         y.b - x.b == z.b - y.b;
}

}  // namespace

std::pair<Index, Index> positions_within(const Triplet& section, Index begin, Index end) {
  const auto [start, count, step] = section;
  Index from = 0;
  Index to = 0;
  if (step > 0) {
    if (begin > start) from = ceiling(begin - start, step);
    if (end > start) to = ceiling(end - start, step);
  } else {
    if (start >= end) from = (start - end) / -step + 1;
    if (start >= begin) to = (start - begin) / -step + 1;
  }
  to = std::min(to, count);
  return from < to ? std::pair(from, to) : std::pair<Index, Index>(0, 0);
}

std::vector<IndexRun> block_runs(const BlockCyclicMap& map, int part, const Triplet& section) {
  std::vector<IndexRun> runs;
  if (section.count == 0) return runs;
  const Triplet upwards = section.ascending();
  const Index blocks = (upwards.last() - upwards.start) / map.block() / map.parts();
  if (blocks <= section.count) {
    add_by_blocks(map, part, section, runs);
    return runs;
  }
  // The step is so large that most blocks contain none of its numbers.
  for (Index position = 0; position < section.count; ++position) {
    const Index local = map.local(part, section.at(position));
    if (local >= 0) runs.push_back({position, 1, 1, local, 1});
  }
  return runs;
}

std::vector<Overlap> compress(const std::vector<Match>& matches) {
  std::vector<Overlap> found;
  for (std::size_t i = 0; i < matches.size();) {
    std::size_t end = i + 1;
    if (end < matches.size()) {
      const Match& here = matches[i];
      const Match& next = matches[end];
      const bool neighbours =
          next.position - here.position == 1 && next.a - here.a == 1 && next.b - here.b == 1;
      if (neighbours || (end + 1 < matches.size() && in_step(here, next, matches[end + 1]))) ++end;
      while (end > i + 1 && end < matches.size() &&
             in_step(matches[end - 2], matches[end - 1], matches[end]))
        ++end;
    }
    Overlap overlap;
    overlap.position = matches[i].position;
    overlap.count = static_cast<Index>(end - i);
    overlap.local_a = matches[i].a;
    overlap.local_b = matches[i].b;
    if (overlap.count > 1) {
      overlap.position_step = matches[i + 1].position - matches[i].position;
      overlap.step_a = matches[i + 1].a - matches[i].a;
      overlap.step_b = matches[i + 1].b - matches[i].b;
    }
    found.push_back(overlap);
    i = end;
  }
  return found;
}

}  // namespace impishim::darray
