// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/gather/detail/locator.hpp"

#include <algorithm>

#include "darray/plan/core/detail/owned_part.hpp"

namespace impishim::darray {
namespace {

constexpr Index kChunk = 2048;

}  // namespace

ActiveSubscripts::ActiveSubscripts(const Subscripts& subscripts, Mask mask, int axes, Index owned)
    : count_(owned), lists_(subscripts) {
  if (static_cast<int>(subscripts.size()) != axes) {
    fail(ErrorKind::kShape, "{} lists of subscripts for an array of {} axes", subscripts.size(),
         axes);
  }
  for (std::size_t axis = 0; axis < subscripts.size(); ++axis) {
    if (static_cast<Index>(subscripts[axis].size()) != owned) {
      fail(ErrorKind::kShape,
           "axis {}: {} subscripts, but the rank owns {} elements of the aligned array", axis,
           subscripts[axis].size(), owned);
    }
  }
  if (mask.empty()) return;
  if (static_cast<Index>(mask.size()) != owned) {
    fail(ErrorKind::kShape, "a mask of {} values, but the rank owns {} elements", mask.size(),
         owned);
  }
  for (std::size_t k = 0; k < mask.size(); ++k) {
    if (mask[k]) elements_.push_back(static_cast<Index>(k));
  }
  count_ = static_cast<Index>(elements_.size());
  kept_.resize(subscripts.size());
  for (std::size_t axis = 0; axis < subscripts.size(); ++axis) {
    for (const Index k : elements_)
      kept_[axis].push_back(subscripts[axis][static_cast<std::size_t>(k)]);
    lists_[axis] = kept_[axis];
  }
}

Locator::Locator(const Communicator& communicator, const Distribution& distribution)
    : communicator_(communicator), distribution_(distribution) {
  for (const auto& axis : distribution.axes()) {
    const DimMap& map = axis.map;
    const bool labels = map.kind() == DimMap::Kind::kUnstructured;
    Axis& mine = axes_.emplace_back();
    mine.map = &map;
    mine.place_stride = axis.grid_dimension == kNotDistributed
                            ? 0
                            : distribution.grid().stride(axis.grid_dimension);
    mine.shared_labels = labels && !map.labels().one_to_one();
    mine.owned_part =
        distribution.is_member(communicator.rank())
            ? distribution.part(communicator.rank(), static_cast<int>(axes_.size()) - 1)
            : -1;
    for (int part = 0; part < map.parts(); ++part) {
      const Ghosts ghosts =
          axis.ghosts.empty() ? Ghosts{} : axis.ghosts[static_cast<std::size_t>(part)];
      mine.lower.push_back(ghosts.lower);
      mine.local_extent.push_back(map.owned(part) + ghosts.lower + ghosts.upper);
      if (map.kind() == DimMap::Kind::kBlock || map.kind() == DimMap::Kind::kCollapsed) {
        mine.begin.push_back(map.block_of(part).first);
      }
    }
  }
}

bool Locator::shares_labels() const {
  return std::any_of(axes_.begin(), axes_.end(),
                     [](const Axis& axis) { return axis.shared_labels; });
}

void Locator::check(const ActiveSubscripts& subscripts) const {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const DimMap& map = *axes_[axis].map;
    const std::span<const Index> list = subscripts.axis(axis);
    const bool labels = map.kind() == DimMap::Kind::kUnstructured;
    const auto extent = static_cast<std::uint64_t>(map.extent());
    const auto wrong = [&](Index index) {
      return labels ? !map.contains(index) : static_cast<std::uint64_t>(index) >= extent;
    };
    const auto found = std::find_if(list.begin(), list.end(), wrong);
    if (found == list.end()) continue;
    const Index element = subscripts.element(found - list.begin());
    if (labels)
      fail(ErrorKind::kKey, "axis {}: no part has label {}, the subscript of element {}", axis,
           *found, element);
    fail(ErrorKind::kKey, "axis {}: {}, the subscript of element {}, is outside of extent {}", axis,
         *found, element, extent);
  }
}

template <class PartOf, class LocalOf>
void Locator::add_axis(const Axis& axis, std::span<const Index> indices, PartOf part_of,
                       LocalOf local_of, Chunk& chunk) {
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const int part = part_of(indices[k]);
    const auto p = static_cast<std::size_t>(part);
    chunk.places[k] += part * axis.place_stride;
    chunk.offsets[k] =
        chunk.offsets[k] * axis.local_extent[p] + axis.lower[p] + local_of(part, indices[k]);
  }
}

// Sets the places, not counting copies, and the offsets of active elements. Each label has one
// owner here.
void Locator::locate(const ActiveSubscripts& subscripts, Index from, Index count,
                     Chunk& chunk) const {
  chunk.places.assign(static_cast<std::size_t>(count), 0);
  chunk.offsets.assign(static_cast<std::size_t>(count), 0);
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const Axis& axis = axes_[a];
    const DimMap& map = *axis.map;
    const auto indices =
        subscripts.axis(a).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(count));
    const auto in_block = [&](int part, Index index) {
      return index - axis.begin[static_cast<std::size_t>(part)];
    };
    if (map.parts() == 1 && !axis.begin.empty()) {
      add_axis(
          axis, indices, [](Index) { return 0; }, in_block, chunk);
    } else if (!axis.begin.empty()) {
      add_axis(
          axis, indices, [&](Index index) { return map.owner(index); }, in_block, chunk);
    } else {
      add_axis(
          axis, indices, [&](Index index) { return map.owner(index); },
          [&](int part, Index index) { return *map.local(part, index); }, chunk);
    }
  }
}

// Visits all combinations of the parts that own the labels, or only the nearest one.
template <class Found>
void Locator::locate_owners(const ActiveSubscripts& subscripts, Index k, std::size_t axis,
                            Index place, Index offset, bool one, const Found& found) const {
  if (axis == axes_.size()) {
    found(place, offset);
    return;
  }
  const Axis& mine = axes_[axis];
  const Index index = subscripts.axis(axis)[static_cast<std::size_t>(k)];
  std::vector<int> parts = mine.map->owners(index);
  if (one)
    parts = {std::find(parts.begin(), parts.end(), mine.owned_part) != parts.end() ? mine.owned_part
                                                                                   : parts.front()};
  for (const int part : parts) {
    const auto p = static_cast<std::size_t>(part);
    locate_owners(subscripts, k, axis + 1, place + part * mine.place_stride,
                  offset * mine.local_extent[p] + mine.lower[p] + *mine.map->local(part, index),
                  one, found);
  }
}

int Locator::nearest_rank(Index place) const {
  const std::vector<int> copies =
      distribution_.copies(distribution_.grid().rank_at(static_cast<int>(place)));
  const auto own = std::find(copies.begin(), copies.end(), communicator_.rank());
  if (own != copies.end()) return *own;
  const auto near = std::find_if(copies.begin(), copies.end(), [this](int rank) {
    return !communicator_.systems().crosses(communicator_.rank(), rank);
  });
  return near != copies.end() ? *near : copies.front();
}

// Calls found(active element, place, offset) for the owner of each element, or for all owners of
// its labels.
template <class Found>
void Locator::visit(const ActiveSubscripts& subscripts, bool one, Found found) const {
  check(subscripts);
  if (shares_labels()) {
    for (Index k = 0; k < subscripts.count(); ++k) {
      const auto owner = [&](Index place, Index offset) { found(k, place, offset); };
      locate_owners(subscripts, k, 0, 0, 0, one, owner);
    }
    return;
  }
  Chunk chunk;
  for (Index from = 0; from < subscripts.count(); from += kChunk) {
    const Index count = std::min(kChunk, subscripts.count() - from);
    locate(subscripts, from, count, chunk);
    for (Index k = 0; k < count; ++k) {
      found(from + k, chunk.places[static_cast<std::size_t>(k)],
            chunk.offsets[static_cast<std::size_t>(k)]);
    }
  }
}

std::vector<Location> Locator::nearest(const ActiveSubscripts& subscripts) const {
  std::vector<int> ranks(static_cast<std::size_t>(distribution_.grid().size()), Location::kNowhere);
  std::vector<Location> result;
  result.reserve(static_cast<std::size_t>(subscripts.count()));
  visit(subscripts, true, [&](Index, Index place, Index offset) {
    int& rank = ranks[static_cast<std::size_t>(place)];
    if (rank == Location::kNowhere) rank = nearest_rank(place);
    result.push_back({rank, offset});
  });
  return result;
}

Locator::Copies Locator::all(const ActiveSubscripts& subscripts) const {
  if (!shares_labels() && !distribution_.is_replicated()) return {nearest(subscripts), {}};
  std::vector<std::vector<int>> ranks(static_cast<std::size_t>(distribution_.grid().size()));
  Copies result;
  visit(subscripts, false, [&](Index k, Index place, Index offset) {
    std::vector<int>& copies = ranks[static_cast<std::size_t>(place)];
    if (copies.empty())
      copies = distribution_.copies(distribution_.grid().rank_at(static_cast<int>(place)));
    for (const int rank : copies) {
      result.locations.push_back({rank, offset});
      result.elements.push_back(k);
    }
  });
  return result;
}

}  // namespace impishim::darray
