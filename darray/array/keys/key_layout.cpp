// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "darray/array/keys/key_part.hpp"

namespace impishim::darray {
namespace {

// Returns how many of the triplet's numbers each part of a block map has.
std::vector<Index> counts_of(const DimMap& map, const Triplet& triplet) {
  std::vector<Index> counts(static_cast<std::size_t>(map.parts()), 0);
  for (int part = 0; part < map.parts(); ++part) {
    for (const IndexRun& run : map.runs(part, triplet))
      counts[static_cast<std::size_t>(part)] += run.count;
  }
  return counts;
}

DimMap bounded_by(const std::vector<Index>& counts) {
  std::vector<Index> bounds{0};
  for (const Index count : counts) bounds.push_back(bounds.back() + count);
  return DimMap::bounded(std::move(bounds));
}

// Returns the map of the positions of numbers, each of which stays on its part.
template <class NumberAt>
DimMap staying(const DimMap& map, Index count, NumberAt number_at) {
  std::vector<std::vector<Index>> labels(static_cast<std::size_t>(map.parts()));
  for (Index k = 0; k < count; ++k)
    labels[static_cast<std::size_t>(map.owner(number_at(k)))].push_back(k);
  return DimMap::unstructured(std::move(labels), true);
}

DimMap map_of_triplet(const DimMap& map, const Triplet& triplet) {
  if (triplet == Triplet{0, map.extent(), 1}) return map;
  if (map.kind() == DimMap::Kind::kCollapsed) return DimMap::collapsed(triplet.count);
  if (map.kind() != DimMap::Kind::kBlock)
    return staying(map, triplet.count, [&](Index k) { return triplet.at(k); });
  std::vector<Index> counts = counts_of(map, triplet);
  if (triplet.step < 0) std::ranges::reverse(counts);
  return bounded_by(counts);
}

// Returns the rows of each process if only axis 0 is cut into slices, and the selection can be
// slices too.
std::optional<std::vector<Index>> rows_of_slices(const Layout& array, const ResolvedKey& key) {
  const std::optional<std::vector<Index>> bounds = array.slice_bounds();
  if (!bounds) return std::nullopt;
  const DimMap map = DimMap::bounded(*bounds);
  const ResolvedKey::Choice& first = key.axes().front();
  if (first.list != nullptr) {  // its dimension is always the first one
    std::vector<Index> counts(static_cast<std::size_t>(map.parts()), 0);
    for (const Index index : *first.list) ++counts[static_cast<std::size_t>(map.owner(index))];
    return counts;
  }
  if (first.dimension == ResolvedKey::kNoDimension) {
    std::vector<Index> counts(static_cast<std::size_t>(map.parts()), 0);
    counts[static_cast<std::size_t>(map.owner(first.triplet.start))] = key.shape().front();
    return counts;
  }
  if (first.dimension != 0) return std::nullopt;
  std::vector<Index> counts = counts_of(map, first.triplet);
  if (first.triplet.step < 0) std::ranges::reverse(counts);
  return counts;
}

// Returns the array's grid with fixed coordinates for single indices, along removed axes, and along
// lists that cannot stay.
DistributionPtr part_of_grid(const Distribution& array, const ResolvedKey& key) {
  ProcessGrid grid = array.grid();
  std::vector<Axis> axes(key.shape().size(), Axis{DimMap::collapsed(0)});
  bool lists_have_a_map = false;
  for (int number = 0; number < array.dimensions(); ++number) {
    const Axis& axis = array.axis(number);
    const ResolvedKey::Choice& choice = key.axes()[static_cast<std::size_t>(number)];
    const bool distributed = axis.grid_dimension != kNotDistributed;
    if (choice.list != nullptr) {
      Axis& lists = axes[static_cast<std::size_t>(choice.dimension)];
      if (distributed && !lists_have_a_map) {
        lists = {staying(axis.map, static_cast<Index>(choice.list->size()),
                         [&](Index k) { return key.index_of(number, k); }),
                 axis.grid_dimension};
        lists_have_a_map = true;
      } else {
        if (distributed) grid = grid.restricted(axis.grid_dimension, 0);
        if (!lists_have_a_map) lists = {DimMap::collapsed(static_cast<Index>(choice.list->size()))};
      }
    } else if (choice.dimension == ResolvedKey::kNoDimension) {
      if (distributed)
        grid = grid.restricted(axis.grid_dimension, axis.map.owner(choice.triplet.start));
    } else {
      axes[static_cast<std::size_t>(choice.dimension)] = {map_of_triplet(axis.map, choice.triplet),
                                                          axis.grid_dimension};
    }
  }
  return Distribution::make(std::move(grid), std::move(axes));
}

}  // namespace

LayoutPtr selected_layout(const Layout& array, const ResolvedKey& key) {
  // Slices remain slices if one process has all of them.
  if (key.shape().empty() || (array.is_everywhere() && !array.strategy().is_slicing()))
    return Layout::make(array.context(), key.shape(), kNot, Checks::kOff);
  if (const std::optional<std::vector<Index>> rows = rows_of_slices(array, key)) {
    std::vector<Index> bounds{0};
    for (const Index count : *rows) bounds.push_back(bounds.back() + count);
    return Layout::make_slices(array.context(), std::move(bounds), key.shape());
  }
  return Layout::make(array.context(), key.shape(),
                      Strategy(part_of_grid(array.distribution(), key)), Checks::kOff);
}

bool stays_in_place(const Layout& array, const ResolvedKey& key) {
  if (array.is_everywhere()) return true;
  if (key.shape().empty() || !key.is_section() || !array.slice_bounds()) return false;
  return key.axes().front().triplet.step > 0;
}

}  // namespace impishim::darray
