// SPDX-License-Identifier: Apache-2.0
#include "darray/index/dim_map.hpp"

#include <algorithm>
#include <numeric>

#include "darray/base/error.hpp"
#include "darray/base/hash.hpp"

namespace impishim::darray {

namespace {

void check_extent(Index extent) {
  if (extent < 0) fail(ErrorKind::kLayout, "an axis of extent {}: an extent is at least 0", extent);
  if (extent > kMaximumExtent)
    fail(ErrorKind::kLayout, "an axis of extent {}: an extent is at most 2^62", extent);
}

void check_parts(int parts) {
  if (parts < 1) fail(ErrorKind::kLayout, "a map of {} parts: there is at least one", parts);
}

}  // namespace

DimMap DimMap::collapsed(Index extent) {
  check_extent(extent);
  return DimMap(CollapsedMap(extent));
}

DimMap DimMap::block(Index extent, int parts) {
  check_extent(extent);
  check_parts(parts);
  return DimMap(CeilingMap(extent, parts));
}

DimMap DimMap::balanced(Index extent, int parts) {
  check_extent(extent);
  check_parts(parts);
  return DimMap(BalancedMap(extent, parts));
}

DimMap DimMap::bounded(std::vector<Index> bounds) {
  if (bounds.size() < 2)
    fail(ErrorKind::kLayout, "a block map with {} bounds: there are two at least", bounds.size());
  if (bounds.front() != 0)
    fail(ErrorKind::kLayout, "the first bound of a block map is {}, not 0", bounds.front());
  const auto down = std::is_sorted_until(bounds.begin(), bounds.end());
  if (down != bounds.end()) {
    fail(ErrorKind::kLayout, "part {}: its bounds {} and {} of a block map are not ascending",
         down - bounds.begin() - 1, *std::prev(down), *down);
  }
  check_extent(bounds.back());
  return DimMap(BoundedMap(std::move(bounds)));
}

DimMap DimMap::block_cyclic(Index extent, int parts, Index block, int first) {
  check_extent(extent);
  check_parts(parts);
  if (block < 1) fail(ErrorKind::kLayout, "block size {}: it is at least 1", block);
  if (block > kMaximumExtent / parts)
    fail(ErrorKind::kLayout, "block size {} on {} parts: the product is at most 2^62", block,
         parts);
  if (first < 0 || first >= parts)
    fail(ErrorKind::kLayout, "the first block is to be part {}'s, but there are {} parts", first,
         parts);
  return DimMap(BlockCyclicMap(extent, parts, block, first));
}

DimMap DimMap::unstructured(std::vector<std::vector<Index>> labels, bool one_to_one) {
  if (labels.empty()) check_parts(0);
  return DimMap(UnstructuredMap(std::move(labels), one_to_one));
}

DimMap::Kind DimMap::kind() const {
  if (std::holds_alternative<CollapsedMap>(map_)) return Kind::kCollapsed;
  if (std::holds_alternative<BlockCyclicMap>(map_)) return Kind::kBlockCyclic;
  if (std::holds_alternative<UnstructuredMap>(map_)) return Kind::kUnstructured;
  return Kind::kBlock;
}

std::vector<int> DimMap::owners(Index global) const {
  if (const auto* map = std::get_if<UnstructuredMap>(&map_);
      map != nullptr && map->contains(global))
    return map->owners(global);
  return {owner(global)};
}

std::pair<Index, Index> DimMap::block_of(int part) const {
  check_part(part);
  return std::visit(
      [&](const auto& map) -> std::pair<Index, Index> {
        if constexpr (requires { map.begin(part); }) {
          return {map.begin(part), map.begin(part + 1)};
        } else {
          fail(ErrorKind::kUnsupported,
               "the begin and end of part {}: only a collapsed or block map has them", part);
        }
      },
      map_);
}

Index DimMap::block_size() const {
  const auto* map = std::get_if<BlockCyclicMap>(&map_);
  if (map == nullptr)
    fail(ErrorKind::kUnsupported, "the block size of a map that is not block-cyclic");
  return map->block();
}

int DimMap::first_part() const {
  const auto* map = std::get_if<BlockCyclicMap>(&map_);
  if (map == nullptr)
    fail(ErrorKind::kUnsupported, "the first part of a map that is not block-cyclic");
  return map->first();
}

const UnstructuredMap& DimMap::labels() const {
  const auto* map = std::get_if<UnstructuredMap>(&map_);
  if (map == nullptr) fail(ErrorKind::kUnsupported, "the labels of a map that is not unstructured");
  return *map;
}

Index DimMap::position_period(Index step) const {
  const auto* map = std::get_if<BlockCyclicMap>(&map_);
  if (map == nullptr || map->parts() == 1) return 0;
  const Index pattern = map->block() * map->parts();
  return pattern / std::gcd(pattern, step);
}

bool DimMap::operator==(const DimMap& other) const {
  if (kind() != other.kind() || extent() != other.extent() || parts() != other.parts())
    return false;
  switch (kind()) {
    case Kind::kCollapsed:
      return true;
    case Kind::kBlock:
      for (int part = 0; part < parts(); ++part) {
        if (block_of(part) != other.block_of(part)) return false;
      }
      return true;
    case Kind::kBlockCyclic:
      return block_size() == other.block_size() && first_part() == other.first_part();
    case Kind::kUnstructured:
      return labels() == other.labels();
  }
  return false;
}

std::uint64_t DimMap::hash() const {
  Hasher hasher;
  hasher.add(static_cast<int>(kind()));
  hasher.add(extent());
  hasher.add(parts());
  switch (kind()) {
    case Kind::kCollapsed:
      break;
    case Kind::kBlock:
      for (int part = 0; part < parts(); ++part) hasher.add(block_of(part).second);
      break;
    case Kind::kBlockCyclic:
      hasher.add(block_size());
      hasher.add(first_part());
      break;
    case Kind::kUnstructured:
      hasher.add(labels().hash());
      break;
  }
  return hasher.value();
}

std::optional<std::pair<Index, Index>> DimMap::contiguous(int part) const {
  check_part(part);
  return std::visit(
      [&](const auto& map) -> std::optional<std::pair<Index, Index>> {
        if constexpr (requires { map.begin(part); }) {
          return std::pair(map.begin(part), map.begin(part + 1));
        } else if constexpr (requires { map.first_block(part); }) {
          const Index owned = map.owned(part);
          if (owned > map.block() && map.parts() > 1) return std::nullopt;
          const Index begin = owned == 0 ? 0 : map.global(part, 0);
          return std::pair(begin, begin + owned);
        } else {
          return std::nullopt;
        }
      },
      map_);
}

bool same_piece(const DimMap& a, int part_a, const DimMap& b, int part_b) {
  const Index owned = a.owned(part_a);
  if (owned != b.owned(part_b)) return false;
  if (owned == 0) return true;
  const bool lists =
      a.kind() == DimMap::Kind::kUnstructured || b.kind() == DimMap::Kind::kUnstructured;
  if (!lists) {
    const auto block_a = a.contiguous(part_a);
    const auto block_b = b.contiguous(part_b);
    if (block_a || block_b) return block_a == block_b;
    // Two pieces of several blocks each: the second blocks begin at the same place only if both
    // block sizes and strides are equal.
    const Index block = a.block_size();
    return block == b.block_size() && a.global(part_a, 0) == b.global(part_b, 0) &&
           a.global(part_a, block) == b.global(part_b, block);
  }
  for (Index local = 0; local < owned; ++local) {
    if (a.global(part_a, local) != b.global(part_b, local)) return false;
  }
  return true;
}

void DimMap::wrong_part(int part) const {
  fail(ErrorKind::kArgument, "part {} of a map with {} parts", part, parts());
}

void DimMap::wrong_index(Index global) const {
  if (kind() == Kind::kUnstructured) fail(ErrorKind::kKey, "label {} is no part's", global);
  fail(ErrorKind::kKey, "index {} is outside of the extent {}", global, extent());
}

void DimMap::wrong_local(int part, Index local) const {
  fail(ErrorKind::kKey, "local index {}: part {} owns {} indices", local, part, owned(part));
}

}  // namespace impishim::darray
