// SPDX-License-Identifier: Apache-2.0
#include "darray/array/keys/key_part.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace impishim::darray {
namespace {

// The positions along one dimension that a process has, and the contribution of each to the offset.
struct Strip {
  IndexList positions;
  IndexList offsets;
};

// Returns the strip of a dimension that one axis selects by a triplet.
Strip strip_of_triplet(const DimMap& map, int part, Index stride, const Triplet& triplet) {
  std::vector<std::pair<Index, Index>> found;
  for (const IndexRun& run : map.runs(part, triplet)) {
    for (Index k = 0; k < run.count; ++k)
      found.emplace_back(run.position + k * run.position_step,
                         (run.local + k * run.local_step) * stride);
  }
  if (!std::ranges::is_sorted(found)) std::ranges::sort(found);
  Strip strip;
  for (const auto& [position, offset] : found) {
    strip.positions.push_back(position);
    strip.offsets.push_back(offset);
  }
  return strip;
}

// Returns the strip of the lists' dimension.
Strip strip_of_lists(const Layout& layout, const ResolvedKey& key, Repeats repeats) {
  const Distribution& distribution = layout.distribution();
  Strip strip;
  const Index length = key.shape()[static_cast<std::size_t>(key.list_dimension())];
  for (Index k = 0; k < length; ++k) {
    std::optional<Index> offset = 0;
    for (int axis = 0; offset && axis < distribution.dimensions(); ++axis) {
      if (key.axes()[static_cast<std::size_t>(axis)].list == nullptr) continue;
      const std::optional<Index> local = distribution.axis(axis).map.local(
          distribution.part(layout.rank(), axis), key.index_of(axis, k));
      offset =
          local ? std::optional(*offset + *local * layout.strides()[static_cast<std::size_t>(axis)])
                : std::nullopt;
    }
    if (!offset) continue;
    strip.positions.push_back(k);
    strip.offsets.push_back(*offset);
  }
  if (repeats == Repeats::kAll) return strip;
  std::unordered_map<Index, Index> last;
  for (std::size_t k = 0; k < strip.offsets.size(); ++k)
    last[strip.offsets[k]] = strip.positions[k];
  Strip kept;
  for (std::size_t k = 0; k < strip.offsets.size(); ++k) {
    if (last.at(strip.offsets[k]) != strip.positions[k]) continue;
    kept.positions.push_back(strip.positions[k]);
    kept.offsets.push_back(strip.offsets[k]);
  }
  return kept;
}

}  // namespace

Positions all_positions(std::span<const Index> shape) {
  Positions positions;
  for (const Index extent : shape) {
    positions.emplace_back(static_cast<std::size_t>(extent));
    std::iota(positions.back().begin(), positions.back().end(), Index{0});
  }
  return positions;
}

Index count_of(const Positions& positions) {
  Index count = 1;
  for (const IndexList& list : positions) count *= static_cast<Index>(list.size());
  return count;
}

void check_labels(const Distribution& distribution, const ResolvedKey& key) {
  for (int axis = 0; axis < distribution.dimensions(); ++axis) {
    const DimMap& map = distribution.axis(axis).map;
    if (map.kind() != DimMap::Kind::kUnstructured) continue;
    const int dimension = key.axes()[static_cast<std::size_t>(axis)].dimension;
    const Index count = dimension == ResolvedKey::kNoDimension
                            ? 1
                            : key.shape()[static_cast<std::size_t>(dimension)];
    for (Index k = 0; k < count; ++k) {
      if (!map.contains(key.index_of(axis, k)))
        fail(ErrorKind::kKey, "axis {}: no part has an element with label {}", axis,
             key.index_of(axis, k));
    }
  }
}

OwnPart owned_part(const Layout& layout, const ResolvedKey& key, Repeats repeats) {
  const Distribution& distribution = layout.distribution();
  OwnPart part;
  part.positions.resize(std::max<std::size_t>(key.shape().size(), 1));
  if (!distribution.is_member(layout.rank())) return part;
  std::vector<Strip> strips(key.shape().size());
  Index base = layout.offset();
  for (int axis = 0; axis < distribution.dimensions(); ++axis) {
    const ResolvedKey::Choice& choice = key.axes()[static_cast<std::size_t>(axis)];
    const DimMap& map = distribution.axis(axis).map;
    const int mine = distribution.part(layout.rank(), axis);
    const Index stride = layout.strides()[static_cast<std::size_t>(axis)];
    if (choice.list != nullptr) continue;
    if (choice.dimension != ResolvedKey::kNoDimension) {
      strips[static_cast<std::size_t>(choice.dimension)] =
          strip_of_triplet(map, mine, stride, choice.triplet);
    } else if (const std::optional<Index> local = map.local(mine, choice.triplet.start)) {
      base += *local * stride;
    } else {
      return part;
    }
  }
  if (!key.is_section())
    strips[static_cast<std::size_t>(key.list_dimension())] = strip_of_lists(layout, key, repeats);
  part.positions.resize(strips.size());
  for (std::size_t dimension = 0; dimension < strips.size(); ++dimension)
    part.positions[dimension] = std::move(strips[dimension].positions);
  part.offsets.reserve(static_cast<std::size_t>(count_of(part.positions)));
  const auto walk = [&](const auto& self, std::size_t dimension, Index offset) -> void {
    if (dimension == strips.size()) {
      part.offsets.push_back(offset);
      return;
    }
    for (const Index step : strips[dimension].offsets) self(self, dimension + 1, offset + step);
  };
  walk(walk, 0, base);
  return part;
}

std::optional<OwnSection> own_section(const Layout& layout, const ResolvedKey& key) {
  const Distribution& distribution = layout.distribution();
  if (!key.is_section() || !distribution.is_member(layout.rank())) return std::nullopt;
  OwnSection own;
  own.positions.resize(key.shape().size());
  for (int axis = 0; axis < distribution.dimensions(); ++axis) {
    const ResolvedKey::Choice& choice = key.axes()[static_cast<std::size_t>(axis)];
    const DimMap& map = distribution.axis(axis).map;
    if (map.kind() == DimMap::Kind::kUnstructured) return std::nullopt;
    const std::vector<IndexRun> runs =
        map.runs(distribution.part(layout.rank(), axis), choice.triplet);
    if (runs.size() > 1) return std::nullopt;
    const IndexRun run = runs.empty() ? IndexRun{} : runs.front();
    own.local.push_back({run.local, run.count, run.local_step});
    if (choice.dimension != ResolvedKey::kNoDimension)
      own.positions[static_cast<std::size_t>(choice.dimension)] = {run.position, run.count,
                                                                   run.position_step};
  }
  return own;
}

}  // namespace impishim::darray
