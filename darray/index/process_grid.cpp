// SPDX-License-Identifier: Apache-2.0
#include "darray/index/process_grid.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <numeric>

#include "darray/base/error.hpp"
#include "darray/base/hash.hpp"

namespace impishim::darray {

namespace {

/// Returns all ordered products of `product` with as many factors as `factors` has, from `position`
/// on.
template <class Use>
void for_factorizations(int product, std::size_t position, std::vector<int>& factors,
                        const Use& use) {
  if (position + 1 == factors.size()) {
    factors[position] = product;
    use(factors);
    return;
  }
  for (int factor = 1; factor <= product; ++factor) {
    if (product % factor != 0) continue;
    factors[position] = factor;
    for_factorizations(product / factor, position + 1, factors, use);
  }
}

/// Returns the distance of a grid's ratios from those of the shape. An extent of 0 counts as 1.
double distance(const std::vector<int>& grid, const std::vector<Index>& shape) {
  double sum = 0;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    for (std::size_t j = i + 1; j < grid.size(); ++j) {
      const double wanted = static_cast<double>(std::max<Index>(shape[i], 1)) /
                            static_cast<double>(std::max<Index>(shape[j], 1));
      const double difference = wanted - static_cast<double>(grid[i]) / grid[j];
      sum += difference * difference;
    }
  }
  return std::sqrt(sum);
}

}  // namespace

ProcessGrid::ProcessGrid() = default;

ProcessGrid::ProcessGrid(std::vector<int> extents)
    : extents_(std::move(extents)), strides_(extents_.size()) {
  for (std::size_t dimension = extents_.size(); dimension-- > 0;) {
    const int extent = extents_[dimension];
    if (extent < 1)
      fail(ErrorKind::kLayout, "grid dimension {}: the extent {} is below 1", dimension, extent);
    strides_[dimension] = size_;
    if (__builtin_mul_overflow(size_, extent, &size_))
      fail(ErrorKind::kLayout, "the grid has more than {} places", INT_MAX);
  }
}

ProcessGrid::ProcessGrid(std::vector<int> extents, std::vector<int> members)
    : ProcessGrid(std::move(extents)) {
  if (members.size() != static_cast<std::size_t>(size_)) {
    fail(ErrorKind::kLayout, "a grid of {} places is given {} members: both numbers are equal",
         size_, members.size());
  }
  for (int place = 0; place < size_; ++place)
    sorted_.emplace_back(members[static_cast<std::size_t>(place)], place);
  std::sort(sorted_.begin(), sorted_.end());
  if (sorted_.front().first < 0)
    fail(ErrorKind::kLayout, "grid member {}: a rank is at least 0", sorted_.front().first);
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  const auto twice = std::adjacent_find(sorted_.begin(), sorted_.end(), same);
  if (twice != sorted_.end()) {
    fail(ErrorKind::kLayout,
         "rank {} stands at the places {} and {} of the grid: a process has one place",
         twice->first, twice->second, std::next(twice)->second);
  }
  // The usual order is stored as an empty list, so that equal grids compare as equal.
  if (std::is_sorted(members.begin(), members.end()) && members.back() == size_ - 1) {
    sorted_.clear();
  } else {
    members_ = std::move(members);
  }
}

int ProcessGrid::extent(int dimension) const {
  if (dimension < 0 || dimension >= dimensions()) {
    fail(ErrorKind::kArgument, "grid dimension {} of a grid with {} dimensions", dimension,
         dimensions());
  }
  return extents_[static_cast<std::size_t>(dimension)];
}

std::vector<int> ProcessGrid::members() const {
  if (!members_.empty()) return members_;
  std::vector<int> ranks(static_cast<std::size_t>(size_));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::optional<int> ProcessGrid::place_of(int rank) const {
  if (members_.empty()) return rank >= 0 && rank < size_ ? std::optional<int>(rank) : std::nullopt;
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair(rank, 0));
  if (found == sorted_.end() || found->first != rank) return std::nullopt;
  return found->second;
}

int ProcessGrid::rank_of(std::span<const int> coordinates) const {
  if (coordinates.size() != extents_.size()) {
    fail(ErrorKind::kArgument, "{} coordinates for a grid with {} dimensions", coordinates.size(),
         extents_.size());
  }
  int place = 0;
  for (std::size_t dimension = 0; dimension < extents_.size(); ++dimension) {
    if (coordinates[dimension] < 0 || coordinates[dimension] >= extents_[dimension]) {
      fail(ErrorKind::kArgument, "grid dimension {}: coordinate {} is outside of the extent {}",
           dimension, coordinates[dimension], extents_[dimension]);
    }
    place += coordinates[dimension] * strides_[dimension];
  }
  return rank_at(place);
}

std::optional<std::vector<int>> ProcessGrid::coordinates_of(int rank) const {
  const auto place = place_of(rank);
  if (!place) return std::nullopt;
  std::vector<int> coordinates(extents_.size());
  for (int dimension = 0; dimension < dimensions(); ++dimension) {
    coordinates[static_cast<std::size_t>(dimension)] = coordinate(*place, dimension);
  }
  return coordinates;
}

ProcessGrid ProcessGrid::restricted(int dimension, int coordinate) const {
  const int whole = extent(dimension);
  if (coordinate < 0 || coordinate >= whole) {
    fail(ErrorKind::kArgument, "grid dimension {}: coordinate {} is outside of the extent {}",
         dimension, coordinate, whole);
  }
  std::vector<int> extents = extents_;
  extents[static_cast<std::size_t>(dimension)] = 1;
  std::vector<int> members;
  for (int place = 0; place < size_; ++place) {
    if (this->coordinate(place, dimension) == coordinate) members.push_back(rank_at(place));
  }
  return {std::move(extents), std::move(members)};
}

ProcessGrid ProcessGrid::for_shape(int processes, std::span<const Index> shape,
                                   const std::vector<bool>& distributed) {
  if (processes < 1)
    fail(ErrorKind::kArgument, "a grid of {} processes: there is at least one", processes);
  if (shape.size() != distributed.size()) {
    fail(ErrorKind::kArgument, "{} extents, but {} axes are said to be distributed or not",
         shape.size(), distributed.size());
  }
  std::vector<Index> reduced;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (distributed[axis]) reduced.push_back(shape[axis]);
  }
  if (reduced.empty()) return {};
  if (reduced.size() == 1) {
    return ProcessGrid({static_cast<int>(std::clamp<Index>(reduced.front(), 1, processes))});
  }
  std::vector<int> best;
  double least = std::numeric_limits<double>::infinity();
  std::vector<int> factors(reduced.size());
  for_factorizations(processes, 0, factors, [&](const std::vector<int>& grid) {
    const double here = distance(grid, reduced);
    if (!best.empty() && here >= least) return;
    best = grid;
    least = here;
  });
  return ProcessGrid(std::move(best));
}

std::uint64_t ProcessGrid::hash() const {
  Hasher hasher;
  hasher.add(dimensions());
  for (const int extent : extents_) hasher.add(extent);
  for (const int member : members_) hasher.add(member);
  return hasher.value();
}

}  // namespace impishim::darray
