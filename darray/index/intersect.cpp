// SPDX-License-Identifier: Apache-2.0
#include "darray/index/intersect.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "darray/base/error.hpp"
#include "darray/index/progression.hpp"

namespace impishim::darray {

namespace {

using Kind = DimMap::Kind;

bool is_unstructured(const DimMap& map) { return map.kind() == Kind::kUnstructured; }
bool is_periodic(const DimMap& map) { return map.position_period(1) > 0; }

BlockCyclicMap block_cyclic(const DimMap& map) {
  return {map.extent(), map.parts(), map.block_size(), map.first_part()};
}

void check(const DimMap& a, const Triplet& section_a, const DimMap& b, const Triplet& section_b) {
  if (section_a.count != section_b.count) {
    fail(ErrorKind::kArgument, "sections of {} and {} elements: both numbers are equal",
         section_a.count, section_b.count);
  }
  for (const auto& [map, section] : {std::pair(&a, &section_a), std::pair(&b, &section_b)}) {
    if (is_unstructured(*map)) {
      check_label_triplet(*section);
    } else {
      check_triplet(*section, map->extent());
    }
  }
}

/// Returns the positions of two blocks, which form an interval, or nothing.
std::vector<Overlap> overlap_of_blocks(const Triplet& section_a,
                                       const std::pair<Index, Index>& block_a,
                                       const Triplet& section_b,
                                       const std::pair<Index, Index>& block_b) {
  const auto [from_a, to_a] = positions_within(section_a, block_a.first, block_a.second);
  const auto [from_b, to_b] = positions_within(section_b, block_b.first, block_b.second);
  const Index from = std::max(from_a, from_b);
  const Index to = std::min(to_a, to_b);
  if (from >= to) return {};
  Overlap overlap;
  overlap.position = from;
  overlap.count = to - from;
  overlap.local_a = section_a.at(from) - block_a.first;
  overlap.local_b = section_b.at(from) - block_b.first;
  if (overlap.count > 1) {
    overlap.step_a = section_a.step;
    overlap.step_b = section_b.step;
  }
  return {overlap};
}

/// Returns the elements of part_b at the positions of one run of the other map.
void add_within_run(const IndexRun& run, const DimMap& b, int part_b, const Triplet& section_b,
                    std::vector<Overlap>& found) {
  const Triplet positions{run.position, run.count, run.position_step};
  for (const auto& [other, repeats, position_period, local_period] :
       b.repeated_runs(part_b, section_b.at(positions))) {
    Overlap overlap;
    overlap.position = positions.at(other.position);
    overlap.count = other.count;
    overlap.local_a = run.local + other.position * run.local_step;
    overlap.local_b = other.local;
    if (other.count > 1) {
      overlap.position_step = other.position_step * run.position_step;
      overlap.step_a = other.position_step * run.local_step;
      overlap.step_b = other.local_step;
    }
    overlap.repeats = repeats;
    overlap.position_period = position_period * run.position_step;
    overlap.period_a = position_period * run.local_step;
    overlap.period_b = local_period;
    found.push_back(overlap);
  }
}

void exchange(Overlap& overlap) {
  std::swap(overlap.local_a, overlap.local_b);
  std::swap(overlap.step_a, overlap.step_b);
  std::swap(overlap.period_a, overlap.period_b);
}

/// Returns positions in ascending order with their local elements.
std::vector<std::pair<Index, Index>> elements(const DimMap& map, int part, const Triplet& section) {
  std::vector<std::pair<Index, Index>> all;
  for (const IndexRun& run : map.runs(part, section)) {
    for (Index i = 0; i < run.count; ++i)
      all.emplace_back(run.position + i * run.position_step, run.local + i * run.local_step);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<Overlap> overlaps_of_labels(const DimMap& a, int part_a, const Triplet& section_a,
                                        const DimMap& b, int part_b, const Triplet& section_b) {
  const auto all_a = elements(a, part_a, section_a);
  const auto all_b = elements(b, part_b, section_b);
  std::vector<Match> matches;
  for (std::size_t i = 0, j = 0; i < all_a.size() && j < all_b.size();) {
    if (all_a[i].first == all_b[j].first) {
      matches.push_back({all_a[i].first, all_a[i].second, all_b[j].second});
      ++i;
      ++j;
    } else if (all_a[i].first < all_b[j].first) {
      ++i;
    } else {
      ++j;
    }
  }
  return compress(matches);
}

/// Returns the common period of two patterns, or `count` if that is shorter. 0 stands for a map
/// without a pattern.
Index common_period(Index period_a, Index period_b, Index count) {
  Index period = 0;
  if (period_a == 0 || period_b == 0) {
    period = std::max(period_a, period_b);
  } else if (__builtin_mul_overflow(period_a / std::gcd(period_a, period_b), period_b, &period)) {
    return count;
  }
  return period == 0 ? count : std::min(period, count);
}

/// Intersects two block-cyclic maps: goes once through one common period, and repeats the result.
std::vector<Overlap> periodic_overlaps(const DimMap& a, int part_a, const Triplet& section_a,
                                       const DimMap& b, int part_b, const Triplet& section_b) {
  std::vector<Overlap> found;
  const Index count = section_a.count;
  if (count == 0) return found;
  const Index window =
      common_period(a.position_period(section_a.step), b.position_period(section_b.step), count);
  const Index full = count / window;
  const Index rest = count % window;
  const auto runs_a =
      block_runs(block_cyclic(a), part_a, {section_a.start, window, section_a.step});
  const auto runs_b =
      block_runs(block_cyclic(b), part_b, {section_b.start, window, section_b.step});
  for (std::size_t i = 0, j = 0; i < runs_a.size() && j < runs_b.size();) {
    const IndexRun& run_a = runs_a[i];
    const IndexRun& run_b = runs_b[j];
    const Index begin = std::max(run_a.position, run_b.position);
    const Index end_a = run_a.position + run_a.count;
    const Index end_b = run_b.position + run_b.count;
    const Index end = std::min(end_a, end_b);
    if (begin < end) {
      cut_at_rest(begin, end - begin, full, rest, [&](Index position, Index length, Index repeats) {
        Overlap overlap;
        overlap.position = position;
        overlap.count = length;
        overlap.local_a = run_a.local + (position - run_a.position) * run_a.local_step;
        overlap.local_b = run_b.local + (position - run_b.position) * run_b.local_step;
        const bool strided = length == 1 && repeats > 1;
        const Index period_a = repeats > 1 ? section_a.step * window / a.parts() : 0;
        const Index period_b = repeats > 1 ? section_b.step * window / b.parts() : 0;
        if (strided) {
          overlap.count = repeats;
          overlap.position_step = window;
          overlap.step_a = period_a;
          overlap.step_b = period_b;
        } else {
          overlap.step_a = length == 1 ? 1 : run_a.local_step;
          overlap.step_b = length == 1 ? 1 : run_b.local_step;
          overlap.repeats = repeats;
          overlap.position_period = repeats > 1 ? window : 0;
          overlap.period_a = period_a;
          overlap.period_b = period_b;
        }
        found.push_back(overlap);
      });
    }
    if (end_a <= end_b) ++i;
    if (end_b <= end_a) ++j;
  }
  return found;
}

/// Returns the first position of a repeated run that is not before `position`, or nothing.
std::optional<Index> next_position(const RepeatedRun& repeated, Index position) {
  const IndexRun& run = repeated.run;
  if (position <= run.position) return run.position;
  const Index distance = position - run.position;
  const Index turn = repeated.repeats == 1
                         ? 0
                         : std::min(repeated.repeats - 1, distance / repeated.position_period);
  const Index element =
      (distance - turn * repeated.position_period + run.position_step - 1) / run.position_step;
  if (element < run.count)
    return run.position + turn * repeated.position_period + element * run.position_step;
  if (turn + 1 < repeated.repeats) return run.position + (turn + 1) * repeated.position_period;
  return std::nullopt;
}

/// Returns the first position in any of the runs that is not before `position`.
std::optional<Index> next_position(const std::vector<RepeatedRun>& runs, Index position) {
  std::optional<Index> first;
  for (const RepeatedRun& run : runs) {
    const auto next = next_position(run, position);
    if (next && (!first || *next < *first)) first = next;
  }
  return first;
}

/// Finds partners among the parts of a block or block-cyclic map. Goes from block to block, among
/// those that have a position of the runs.
void add_partners(const std::vector<RepeatedRun>& runs, Index period_a, const DimMap& b,
                  const Triplet& section_b, std::vector<int>& found) {
  auto position = next_position(runs, 0);
  if (!position) return;
  const bool periodic = is_periodic(b);
  // From one period on, the owners repeat.
  const Index period =
      periodic ? common_period(period_a, b.position_period(section_b.step), section_b.count)
               : section_b.count;
  const Index end = *position > section_b.count - period ? section_b.count : *position + period;
  std::vector<bool> seen(periodic ? static_cast<std::size_t>(b.parts()) : 0);
  int missing = b.parts();
  while (position && *position < end && missing > 0) {
    const Index global = section_b.at(*position);
    const int part = b.owner(global);
    if (!periodic || !seen[static_cast<std::size_t>(part)]) {
      found.push_back(part);
      --missing;
    }
    Index begin = 0;
    Index stop = b.extent();
    if (periodic) {
      seen[static_cast<std::size_t>(part)] = true;
      begin = global / b.block_size() * b.block_size();
      stop = begin + b.block_size();
    } else if (b.kind() != Kind::kBlockCyclic) {
      std::tie(begin, stop) = b.block_of(part);
    }
    position = next_position(runs, positions_within(section_b, begin, stop).second);
  }
}

void add_label_partners(const std::vector<IndexRun>& runs, const UnstructuredMap& b,
                        const Triplet& section_b, std::vector<int>& found) {
  for (const IndexRun& run : runs) {
    for (Index i = 0; i < run.count; ++i) {
      const std::vector<int> owners = b.owners(section_b.at(run.position + i * run.position_step));
      found.insert(found.end(), owners.begin(), owners.end());
    }
  }
}

}  // namespace

std::vector<Overlap> overlaps(const DimMap& a, int part_a, const Triplet& section_a,
                              const DimMap& b, int part_b, const Triplet& section_b) {
  check(a, section_a, b, section_b);
  const auto block_a = a.contiguous(part_a);
  const auto block_b = b.contiguous(part_b);
  if (block_a && block_b) return overlap_of_blocks(section_a, *block_a, section_b, *block_b);
  if (is_unstructured(a) && is_unstructured(b))
    return overlaps_of_labels(a, part_a, section_a, b, part_b, section_b);
  if (is_periodic(a) && is_periodic(b))
    return periodic_overlaps(a, part_a, section_a, b, part_b, section_b);
  // One of the maps has runs that can be processed one by one: a single run, or the runs of an
  // unstructured map.
  std::vector<Overlap> found;
  if (is_unstructured(b) || (is_periodic(a) && !is_unstructured(a))) {
    for (const IndexRun& run : b.runs(part_b, section_b))
      add_within_run(run, a, part_a, section_a, found);
    for (Overlap& each : found) exchange(each);
  } else {
    for (const IndexRun& run : a.runs(part_a, section_a))
      add_within_run(run, b, part_b, section_b, found);
  }
  return found;
}

std::vector<int> partners(const DimMap& a, int part_a, const Triplet& section_a, const DimMap& b,
                          const Triplet& section_b) {
  check(a, section_a, b, section_b);
  std::vector<int> found;
  if (is_unstructured(b)) {
    add_label_partners(a.runs(part_a, section_a), b.labels(), section_b, found);
  } else if (is_unstructured(a)) {
    for (const IndexRun& run : a.runs(part_a, section_a)) {
      const Triplet positions{run.position, run.count, run.position_step};
      add_partners({RepeatedRun{{0, run.count}}}, 0, b, section_b.at(positions), found);
    }
  } else {
    add_partners(a.repeated_runs(part_a, section_a), a.position_period(section_a.step), b,
                 section_b, found);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace impishim::darray
