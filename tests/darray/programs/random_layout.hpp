// Random distributions, the same on all ranks, and arrays on them that are compared with serial ones.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "darray/index/distribution.hpp"

namespace checks {

using impishim::darray::Axis;
using impishim::darray::DimMap;
using impishim::darray::Distribution;
using impishim::darray::DistributionPtr;
using impishim::darray::Ghosts;
using impishim::darray::Index;
using impishim::darray::ProcessGrid;

/// The same numbers on every rank and machine.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  /// From 0 to below `end`.
  Index below(Index end) { return static_cast<Index>(engine_() % static_cast<std::uint64_t>(end)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t k = list.size(); k > 1; --k)
      std::swap(list[k - 1], list[static_cast<std::size_t>(below(static_cast<Index>(k)))]);
  }

 private:
  std::mt19937_64 engine_;
};

inline DimMap random_map(Random& random, Index extent, int parts) {
  switch (random.below(6)) {
    case 0:
      return DimMap::block(extent, parts);
    case 1:
      return DimMap::balanced(extent, parts);
    case 2: {
      std::vector<Index> bounds{0};
      for (int part = 1; part < parts; ++part) bounds.push_back(random.below(extent + 1));
      bounds.push_back(extent);
      std::sort(bounds.begin(), bounds.end());
      return DimMap::bounded(bounds);
    }
    case 3: {
      std::vector<Index> labels(static_cast<std::size_t>(extent));
      std::iota(labels.begin(), labels.end(), 0);
      random.shuffle(labels);
      std::vector<std::vector<Index>> lists(static_cast<std::size_t>(parts));
      for (const Index label : labels) lists[static_cast<std::size_t>(random.below(parts))].push_back(label);
      return DimMap::unstructured(lists, random.chance(50));
    }
    default:
      return DimMap::block_cyclic(extent, parts, 1 + random.below(4), static_cast<int>(random.below(parts)));
  }
}

/// Labels are those from 0 to extent - 1, so that they are indices.
inline DistributionPtr random_layout(Random& random, const std::vector<Index>& shape, int ranks) {
  std::vector<int> extents;
  std::vector<Axis> axes;
  int left = ranks;
  for (const Index extent : shape) {
    const int parts = random.chance(70) ? 1 + static_cast<int>(random.below(left)) : 0;
    if (parts == 0) {
      axes.push_back({DimMap::collapsed(extent)});
      continue;
    }
    axes.push_back({random_map(random, extent, parts), static_cast<int>(extents.size())});
    if (axes.back().map.kind() == DimMap::Kind::kBlock && random.chance(50)) {
      for (int part = 0; part < parts; ++part) axes.back().ghosts.push_back(Ghosts{random.below(3), random.below(3)});
    }
    extents.push_back(parts);
    left /= parts;
  }
  // A dimension that no axis follows.
  if (left > 1 && random.chance(40)) extents.push_back(left);
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  if (random.chance(60)) random.shuffle(members);
  members.resize(static_cast<std::size_t>(std::accumulate(extents.begin(), extents.end(), 1, std::multiplies<>())));
  return Distribution::make(ProcessGrid(extents, members), axes);
}

inline std::vector<Index> random_shape(Random& random, int most_axes, Index most) {
  std::vector<Index> shape(static_cast<std::size_t>(random.below(most_axes + 1)));
  for (Index& extent : shape) extent = random.below(most + 1);
  return shape;
}

inline Index flat(const std::vector<Index>& shape, const std::vector<Index>& indices) {
  Index number = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) number = number * shape[axis] + indices[axis];
  return number;
}

inline std::vector<Index> tuple(const std::vector<Index>& shape, Index number) {
  std::vector<Index> indices(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; number /= shape[axis]) indices[axis] = number % shape[axis];
  return indices;
}

/// Where each owned element lies in the local buffer, and its flat number in the array: worked out one by one.
struct Owned {
  Index offset;
  Index number;
};
inline std::vector<Owned> owned_elements(const Distribution& layout, int rank) {
  std::vector<Owned> list;
  const std::vector<Index> owned = layout.owned_shape(rank);
  const std::vector<Index> begin = layout.owned_offset(rank);
  for (Index k = 0; k < layout.owned_size(rank); ++k) {
    std::vector<Index> local = tuple(owned, k);
    const std::vector<Index> global = layout.to_global(rank, local);
    for (std::size_t axis = 0; axis < local.size(); ++axis) local[axis] += begin[axis];
    list.push_back({flat(layout.local_shape(rank), local), flat(layout.shape(), global)});
  }
  return list;
}

/// A rank's local buffer with the values of a whole array; `ghost` everywhere else.
template <class T>
std::vector<T> piece_of(const Distribution& layout, int rank, const std::vector<T>& whole, T ghost = T(77)) {
  std::vector<T> buffer(static_cast<std::size_t>(layout.local_size(rank)), ghost);
  for (const Owned& element : owned_elements(layout, rank)) {
    buffer[static_cast<std::size_t>(element.offset)] = whole[static_cast<std::size_t>(element.number)];
  }
  return buffer;
}

/// The values of a whole array for the owned elements, in row-major order.
template <class T>
std::vector<T> aligned(const Distribution& layout, int rank, const std::vector<T>& whole) {
  std::vector<T> list;
  for (const Owned& element : owned_elements(layout, rank)) list.push_back(whole[static_cast<std::size_t>(element.number)]);
  return list;
}

/// A mask that can be a span.
class MaskValues {
 public:
  explicit MaskValues(const std::vector<char>& values) : count_(values.size()), values_(std::make_unique<bool[]>(count_)) {
    std::copy(values.begin(), values.end(), values_.get());
  }
  operator std::span<const bool>() const { return {values_.get(), count_}; }  // NOLINT: it is one

 private:
  std::size_t count_;
  std::unique_ptr<bool[]> values_;
};

}  // namespace checks
