// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/darray/random_layout.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace impishim_test {

using impishim::darray::Axis;
using impishim::darray::DimMap;
using impishim::darray::Distribution;
using impishim::darray::DistributionPtr;
using impishim::darray::Ghosts;
using impishim::darray::Index;
using impishim::darray::kNotDistributed;
using impishim::darray::ProcessGrid;
using impishim::darray::Triplet;

namespace {

DimMap random_bounds(Chance& chance, Index extent, int parts) {
  std::vector<Index> bounds{0, extent};
  for (int k = 1; k < parts; ++k) bounds.push_back(chance.number(0, extent));
  std::ranges::sort(bounds);
  return DimMap::bounded(bounds);
}

DimMap random_labels(Chance& chance, Index extent, int parts, bool shared) {
  std::vector<Index> all(static_cast<std::size_t>(extent));
  std::iota(all.begin(), all.end(), 0);
  chance.shuffle(all);
  std::vector<std::vector<Index>> labels(static_cast<std::size_t>(parts));
  for (const Index label : all) {
    const int owner = chance.small(0, parts - 1);
    for (int part = 0; part < parts; ++part) {
      if (part == owner || (shared && chance.once_in(3)))
        labels[static_cast<std::size_t>(part)].push_back(label);
    }
  }
  return DimMap::unstructured(labels, !shared);
}

}  // namespace

DimMap random_map(Chance& chance, Index extent, int parts, const LayoutChoice& choice,
                  bool shared) {
  const int kinds = choice.blocks_only ? 3 : (choice.unstructured ? 6 : 5);
  switch (chance.small(0, kinds - 1)) {
    case 0:
      return DimMap::block(extent, parts);
    case 1:
      return DimMap::balanced(extent, parts);
    case 2:
      return random_bounds(chance, extent, parts);
    case 3:
    case 4:
      return DimMap::block_cyclic(extent, parts, chance.number(1, 5), chance.small(0, parts - 1));
    default:
      return random_labels(chance, extent, parts, shared);
  }
}

DistributionPtr random_layout(Chance& chance, const std::vector<Index>& shape, int ranks,
                              const LayoutChoice& choice, bool shared) {
  std::vector<int> extents;
  std::vector<Axis> axes;
  int left = ranks;
  const auto add_dimension = [&] {
    extents.push_back(chance.small(1, left));
    left /= extents.back();
  };
  for (const Index extent : shape) {
    const bool distributed = !chance.once_in(4);
    if (choice.replicated && chance.once_in(5)) add_dimension();
    if (distributed) add_dimension();
    const int parts = distributed ? extents.back() : 1;
    Axis axis{random_map(chance, extent, parts, choice, shared),
              distributed ? static_cast<int>(extents.size()) - 1 : kNotDistributed};
    const bool blocks =
        axis.map.kind() == DimMap::Kind::kBlock || axis.map.kind() == DimMap::Kind::kCollapsed;
    if (choice.ghosts && blocks && chance.once_in(2)) {
      for (int part = 0; part < parts; ++part)
        axis.ghosts.push_back({chance.number(0, 3), chance.number(0, 3)});
    }
    axes.push_back(axis);
  }
  if (choice.replicated && chance.once_in(3)) add_dimension();
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  chance.shuffle(members);
  const int size = std::accumulate(extents.begin(), extents.end(), 1, std::multiplies<>());
  members.resize(static_cast<std::size_t>(size));
  return Distribution::make(ProcessGrid(extents, members), axes);
}

std::vector<Index> random_shape(Chance& chance, int most_axes, Index most) {
  std::vector<Index> shape(static_cast<std::size_t>(chance.number(0, most_axes)));
  for (Index& extent : shape) extent = chance.number(0, most);
  return shape;
}

Triplet random_section(Chance& chance, Index extent, Index count) {
  if (count == 0) return {chance.number(0, extent), 0, 1};
  const Index widest = count == 1 ? 3 : (extent - 1) / (count - 1);
  const Index step = chance.number(1, widest);
  const Index start = chance.number(0, extent - 1 - (count - 1) * step);
  if (chance.once_in(2)) return {start, count, step};
  return {start + (count - 1) * step, count, -step};
}

}  // namespace impishim_test
