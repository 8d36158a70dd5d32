// SPDX-License-Identifier: Apache-2.0
#include "darray/index/distribution.hpp"

#include <algorithm>
#include <functional>

#include "darray/base/error.hpp"
#include "darray/base/hash.hpp"

namespace impishim::darray {

namespace {

bool is_block(const DimMap& map) {
  return map.kind() == DimMap::Kind::kCollapsed || map.kind() == DimMap::Kind::kBlock;
}

void check_ghosts(const Axis& axis, int number) {
  if (axis.ghosts.empty()) return;
  if (axis.ghosts.size() != static_cast<std::size_t>(axis.map.parts())) {
    fail(ErrorKind::kLayout, "axis {}: ghosts for {} parts, but the map has {}", number,
         axis.ghosts.size(), axis.map.parts());
  }
  for (std::size_t part = 0; part < axis.ghosts.size(); ++part) {
    const auto [lower, upper] = axis.ghosts[part];
    if (lower < 0 || upper < 0)
      fail(ErrorKind::kLayout, "axis {}, part {}: {} and {} ghosts: none is negative", number, part,
           lower, upper);
    if ((lower > 0 || upper > 0) && !is_block(axis.map)) {
      fail(ErrorKind::kLayout,
           "axis {}, part {}: {} and {} ghosts: only collapsed and block axes have ghosts", number,
           part, lower, upper);
    }
    if (lower > kMaximumExtent / 2 || upper > kMaximumExtent / 2)
      fail(ErrorKind::kLayout, "axis {}: more than 2^61 ghosts", number);
  }
}

void check_boundary(const Axis& axis, int number) {
  const auto [lower, upper] = axis.boundary;
  if (lower == 0 && upper == 0) return;
  if (lower < 0 || upper < 0)
    fail(ErrorKind::kLayout, "axis {}: a boundary of {} and {}: none is negative", number, lower,
         upper);
  if (!is_block(axis.map)) {
    fail(ErrorKind::kLayout,
         "axis {}: a boundary of {} and {}: only collapsed and block axes have one", number, lower,
         upper);
  }
  const int last = axis.map.parts() - 1;
  if (lower > axis.map.owned(0)) {
    fail(ErrorKind::kLayout, "axis {}: a lower boundary of {}, but part 0 owns {}", number, lower,
         axis.map.owned(0));
  }
  if (upper > axis.map.owned(last)) {
    fail(ErrorKind::kLayout, "axis {}: an upper boundary of {}, but part {} owns {}", number, upper,
         last, axis.map.owned(last));
  }
  if (last == 0 && lower > axis.map.owned(0) - upper) {
    fail(ErrorKind::kLayout,
         "axis {}: an upper boundary of {}, but part 0 owns {}, {} of them as the lower one",
         number, upper, axis.map.owned(0), lower);
  }
}

Index product(const std::vector<Index>& extents) {
  Index all = 1;
  for (const Index extent : extents) all *= extent;
  return all;
}

}  // namespace

Distribution::Distribution(ProcessGrid grid, std::vector<Axis> axes)
    : grid_(std::move(grid)), axes_(std::move(axes)) {
  std::vector<int> follower(static_cast<std::size_t>(grid_.dimensions()), -1);
  for (int number = 0; number < dimensions(); ++number) {
    check_axis(number);
    const int dimension = axis(number).grid_dimension;
    if (dimension == kNotDistributed) continue;
    int& other = follower[static_cast<std::size_t>(dimension)];
    if (other >= 0)
      fail(ErrorKind::kLayout, "axes {} and {} both follow grid dimension {}: one may", other,
           number, dimension);
    other = number;
  }
  for (int dimension = 0; dimension < grid_.dimensions(); ++dimension) {
    if (follower[static_cast<std::size_t>(dimension)] >= 0) continue;
    free_dimensions_.push_back(dimension);
    replicas_ *= grid_.extent(dimension);
  }
  for (const Axis& each : axes_) shape_.push_back(each.map.extent());
  size_ = element_count(shape_);
  hash_ = compute_hash();
}

void Distribution::check_axis(int number) {
  const Axis& each = axis(number);
  const int dimension = each.grid_dimension;
  if (dimension != kNotDistributed && (dimension < 0 || dimension >= grid_.dimensions())) {
    fail(ErrorKind::kLayout, "axis {} follows grid dimension {}, but the grid has {}", number,
         dimension, grid_.dimensions());
  }
  const int processes = dimension == kNotDistributed ? 1 : grid_.extent(dimension);
  if (each.map.parts() != processes) {
    fail(ErrorKind::kLayout,
         "axis {}: its map has {} parts for {} processes: both numbers are equal", number,
         each.map.parts(), processes);
  }
  check_ghosts(each, number);
  check_boundary(each, number);
}

const Axis& Distribution::axis(int axis) const {
  if (axis < 0 || axis >= dimensions())
    fail(ErrorKind::kArgument, "axis {} of an array with {} axes", axis, dimensions());
  return axes_[static_cast<std::size_t>(axis)];
}

int Distribution::place(int rank) const {
  const auto place = grid_.place_of(rank);
  if (!place)
    fail(ErrorKind::kArgument, "rank {} is no member of the grid of {} processes", rank,
         grid_.size());
  return *place;
}

int Distribution::part_at(int place, std::size_t axis) const {
  const int dimension = axes_[axis].grid_dimension;
  return dimension == kNotDistributed ? 0 : grid_.coordinate(place, dimension);
}

int Distribution::part(int rank, int axis) const {
  static_cast<void>(this->axis(axis));
  return part_at(place(rank), static_cast<std::size_t>(axis));
}

std::vector<int> Distribution::parts(int rank) const {
  const int here = place(rank);
  std::vector<int> parts(axes_.size());
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) parts[axis] = part_at(here, axis);
  return parts;
}

std::vector<Index> Distribution::owned_shape(int rank) const {
  std::vector<Index> extents(axes_.size(), 0);
  const auto here = grid_.place_of(rank);
  if (!here) return extents;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    extents[axis] = axes_[axis].map.owned(part_at(*here, axis));
  return extents;
}

Index Distribution::owned_size(int rank) const {
  return is_member(rank) ? product(owned_shape(rank)) : 0;
}

Ghosts Distribution::ghosts(int rank, int axis) const {
  const Axis& each = this->axis(axis);
  const int part = this->part(rank, axis);
  return each.ghosts.empty() ? Ghosts{} : each.ghosts[static_cast<std::size_t>(part)];
}

std::vector<Index> Distribution::local_shape(int rank) const {
  std::vector<Index> extents = owned_shape(rank);
  if (!is_member(rank)) return extents;
  for (int axis = 0; axis < dimensions(); ++axis) {
    const auto [lower, upper] = ghosts(rank, axis);
    extents[static_cast<std::size_t>(axis)] += lower + upper;
  }
  return extents;
}

Index Distribution::local_size(int rank) const {
  return is_member(rank) ? product(local_shape(rank)) : 0;
}

std::vector<Index> Distribution::owned_offset(int rank) const {
  std::vector<Index> offsets(axes_.size(), 0);
  if (!is_member(rank)) return offsets;
  for (int axis = 0; axis < dimensions(); ++axis)
    offsets[static_cast<std::size_t>(axis)] = ghosts(rank, axis).lower;
  return offsets;
}

bool Distribution::has_ghosts() const {
  return std::ranges::any_of(axes_, [](const Axis& axis) {
    return std::ranges::any_of(axis.ghosts, [](const Ghosts& each) { return each != Ghosts{}; });
  });
}

int Distribution::primary(int rank) const {
  const int here = place(rank);
  int first = here;
  for (const int dimension : free_dimensions_)
    first -= grid_.coordinate(here, dimension) * grid_.stride(dimension);
  return grid_.rank_at(first);
}

std::vector<int> Distribution::copies(int rank) const {
  std::vector<int> places{place(primary(rank))};
  for (const int dimension : free_dimensions_) {
    const std::vector<int> before = std::move(places);
    places.clear();
    for (const int each : before) {
      for (int i = 0; i < grid_.extent(dimension); ++i)
        places.push_back(each + i * grid_.stride(dimension));
    }
  }
  std::sort(places.begin(), places.end());
  std::ranges::transform(places, places.begin(), [&](int place) { return grid_.rank_at(place); });
  return places;
}

void Distribution::check_tuple(std::span<const Index> indices) const {
  if (indices.size() != axes_.size()) {
    fail(ErrorKind::kArgument, "{} indices for an array with {} axes", indices.size(),
         axes_.size());
  }
}

void Distribution::check_global(std::span<const Index> global) const {
  check_tuple(global);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const DimMap& map = axes_[axis].map;
    if (map.contains(global[axis])) continue;
    if (map.kind() == DimMap::Kind::kUnstructured)
      fail(ErrorKind::kKey, "axis {}: label {} is no part's", axis, global[axis]);
    fail(ErrorKind::kKey, "axis {}: index {} is outside of the extent {}", axis, global[axis],
         map.extent());
  }
}

std::vector<int> Distribution::owners(std::span<const Index> global) const {
  check_global(global);
  std::vector<int> places{0};
  const auto spread = [&](int dimension, const std::vector<int>& coordinates) {
    const std::vector<int> before = std::move(places);
    places.clear();
    for (const int each : before) {
      for (const int coordinate : coordinates)
        places.push_back(each + coordinate * grid_.stride(dimension));
    }
  };
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const int dimension = axes_[axis].grid_dimension;
    if (dimension != kNotDistributed) spread(dimension, axes_[axis].map.owners(global[axis]));
  }
  for (const int dimension : free_dimensions_) {
    std::vector<int> all(static_cast<std::size_t>(grid_.extent(dimension)));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    spread(dimension, all);
  }
  std::sort(places.begin(), places.end());
  std::ranges::transform(places, places.begin(), [&](int place) { return grid_.rank_at(place); });
  return places;
}

int Distribution::owner(std::span<const Index> global) const {
  check_global(global);
  int place = 0;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const int dimension = axes_[axis].grid_dimension;
    if (dimension != kNotDistributed)
      place += axes_[axis].map.owner(global[axis]) * grid_.stride(dimension);
  }
  return grid_.rank_at(place);
}

std::optional<std::vector<Index>> Distribution::to_local(int rank,
                                                         std::span<const Index> global) const {
  check_global(global);
  const auto here = grid_.place_of(rank);
  if (!here) return std::nullopt;
  std::vector<Index> local(axes_.size());
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const auto index = axes_[axis].map.local(part_at(*here, axis), global[axis]);
    if (!index) return std::nullopt;
    local[axis] = *index;
  }
  return local;
}

std::vector<Index> Distribution::to_global(int rank, std::span<const Index> local) const {
  check_tuple(local);
  const int here = place(rank);
  std::vector<Index> global(axes_.size());
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const DimMap& map = axes_[axis].map;
    const int part = part_at(here, axis);
    if (local[axis] < 0 || local[axis] >= map.owned(part)) {
      fail(ErrorKind::kKey, "axis {}: local index {}: rank {} owns {} indices", axis, local[axis],
           rank, map.owned(part));
    }
    global[axis] = map.global(part, local[axis]);
  }
  return global;
}

bool Distribution::same_pieces(const Distribution& other) const {
  if (this == &other) return true;
  if (shape_ != other.shape_) return false;
  std::vector<int> ranks = grid_.members();
  const std::vector<int> others = other.grid_.members();
  ranks.insert(ranks.end(), others.begin(), others.end());
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return std::ranges::all_of(ranks, [&](int rank) {
    const Index owned = owned_size(rank);
    if (owned != other.owned_size(rank)) return false;
    if (owned == 0) return true;
    for (int axis = 0; axis < dimensions(); ++axis) {
      if (!same_piece(this->axis(axis).map, part(rank, axis), other.axis(axis).map,
                      other.part(rank, axis)))
        return false;
    }
    return true;
  });
}

bool Distribution::operator==(const Distribution& other) const {
  return this == &other || (hash_ == other.hash_ && grid_ == other.grid_ && axes_ == other.axes_);
}

std::uint64_t Distribution::compute_hash() const {
  Hasher hasher;
  hasher.add(grid_.hash());
  for (const Axis& axis : axes_) {
    hasher.add(axis.map.hash());
    hasher.add(axis.grid_dimension);
    for (const Ghosts& each : axis.ghosts) {
      hasher.add(each.lower);
      hasher.add(each.upper);
    }
    hasher.add(axis.boundary.lower);
    hasher.add(axis.boundary.upper);
    hasher.add(axis.periodic ? 1 : 0);
  }
  return hasher.value();
}

}  // namespace impishim::darray
