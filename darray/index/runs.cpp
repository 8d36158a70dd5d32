// SPDX-License-Identifier: Apache-2.0
// The elements of a section that a part owns: DimMap::runs() and DimMap::repeated_runs().
#include <algorithm>

#include "darray/base/error.hpp"
#include "darray/index/dim_map.hpp"
#include "darray/index/progression.hpp"

namespace impishim::darray {

namespace {

/// Returns the part of a section in one block, which is one run or nothing.
std::vector<RepeatedRun> run_in_block(const Triplet& section, Index begin, Index end) {
  const auto [from, to] = positions_within(section, begin, end);
  if (from == to) return {};
  const Index step = to - from == 1 ? 1 : section.step;
  return {RepeatedRun{{from, to - from, 1, section.at(from) - begin, step}}};
}

/// Returns a run that occurs `repeats` times, as one run if that is equivalent.
RepeatedRun repeated(const IndexRun& run, Index repeats, Index position_period,
                     Index local_period) {
  if (repeats == 1) return {run};
  if (run.count == 1) return {{run.position, repeats, position_period, run.local, local_period}};
  return {run, repeats, position_period, local_period};
}

std::vector<RepeatedRun> block_cyclic_runs(const BlockCyclicMap& map, int part,
                                           const Triplet& section, Index period) {
  std::vector<RepeatedRun> runs;
  const Index full = section.count / period;
  const Index rest = section.count % period;
  // The product could overflow for a section that is not longer than a period.
  const Index local_period = section.count > period ? section.step * period / map.parts() : 0;
  for (const IndexRun& run :
       block_runs(map, part, {section.start, std::min(section.count, period), section.step})) {
    cut_at_rest(run.position, run.count, full, rest,
                [&](Index position, Index count, Index repeats) {
                  const Index step = count == 1 ? 1 : run.local_step;
                  const Index local = run.local + (position - run.position) * run.local_step;
                  runs.push_back(
                      repeated({position, count, 1, local, step}, repeats, period, local_period));
                });
  }
  return runs;
}

std::vector<RepeatedRun> unstructured_runs(const UnstructuredMap& map, int part,
                                           const Triplet& section) {
  std::vector<Match> matches;
  const auto labels = map.labels(part);
  for (std::size_t local = 0; local < labels.size(); ++local) {
    const auto index = static_cast<Index>(local);
    if (const auto position = section.position_of(labels[local]))
      matches.push_back({*position, index, index});
  }
  std::sort(matches.begin(), matches.end(),
            [](const Match& a, const Match& b) { return a.position < b.position; });
  std::vector<RepeatedRun> runs;
  for (const Overlap& each : compress(matches)) {
    runs.push_back({{each.position, each.count, each.position_step, each.local_a, each.step_a}});
  }
  return runs;
}

}  // namespace

std::vector<RepeatedRun> DimMap::repeated_runs(int part, const Triplet& section) const {
  check_part(part);
  if (const auto* map = std::get_if<UnstructuredMap>(&map_)) {
    check_label_triplet(section);
    return unstructured_runs(*map, part, section);
  }
  check_triplet(section, extent());
  if (section.count == 0) return {};
  if (const Index period = position_period(section.step); period > 0) {
    return block_cyclic_runs(std::get<BlockCyclicMap>(map_), part, section, period);
  }
  const auto [begin, end] = *contiguous(part);
  return run_in_block(section, begin, end);
}

std::vector<IndexRun> DimMap::runs(int part, const Triplet& section) const {
  std::vector<IndexRun> all;
  for (const auto& [run, repeats, position_period, local_period] : repeated_runs(part, section)) {
    for (Index i = 0; i < repeats; ++i) {
      IndexRun moved = run;
      moved.position += i * position_period;
      moved.local += i * local_period;
      all.push_back(moved);
    }
  }
  std::sort(all.begin(), all.end(),
            [](const IndexRun& a, const IndexRun& b) { return a.position < b.position; });
  return all;
}

}  // namespace impishim::darray
