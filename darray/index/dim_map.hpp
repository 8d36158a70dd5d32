// SPDX-License-Identifier: Apache-2.0
/// How the indices of one axis are dealt out to parts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "darray/index/run.hpp"
#include "darray/index/structured_map.hpp"
#include "darray/index/triplet.hpp"
#include "darray/index/unstructured_map.hpp"

namespace impishim::darray {

/// An immutable map of the indices 0 to extent-1 of an axis (or of the labels of an unstructured
/// one) to parts 0 to parts-1, each of which numbers what it owns from 0. Cheap to copy: long lists
/// are shared. The questions take constant time, but the logarithm of the number of parts for
/// owner() of a bounded map, and of the number of labels for an unstructured one.
class DimMap {
 public:
  enum class Kind : std::uint8_t { kCollapsed, kBlock, kBlockCyclic, kUnstructured };

  /// Not distributed: one part owns all. All of these throw Error kLayout for a negative extent or
  /// one above 2^62, and for parts < 1.
  [[nodiscard]] static DimMap collapsed(Index extent);
  /// Blocks of ceil(extent / parts): late parts may be short or empty. 10 on 4: 3, 3, 3, 1.
  [[nodiscard]] static DimMap block(Index extent, int parts);
  /// The first extent mod parts parts have one more than the others. 10 on 4: 3, 3, 2, 2.
  [[nodiscard]] static DimMap balanced(Index extent, int parts);
  /// Part p owns bounds[p] up to bounds[p + 1]. @throws Error kLayout unless 0 is first and none is
  /// less than the one before.
  [[nodiscard]] static DimMap bounded(std::vector<Index> bounds);
  /// Blocks of `block` dealt round-robin, the first one to part `first`. @throws Error kLayout
  /// unless block >= 1, 0 <= first < parts and block * parts <= 2^62.
  [[nodiscard]] static DimMap block_cyclic(Index extent, int parts, Index block = 1, int first = 0);
  /// Part p owns these labels in this order; see UnstructuredMap.
  [[nodiscard]] static DimMap unstructured(std::vector<std::vector<Index>> labels, bool one_to_one);

  [[nodiscard]] Kind kind() const;
  /// For an unstructured map: the sum of the lists' lengths.
  [[nodiscard]] Index extent() const;
  [[nodiscard]] int parts() const;
  [[nodiscard]] bool contains(Index global) const;

  /// How many indices a part owns. @throws Error kArgument for a part that is not there, as all
  /// questions about a part.
  [[nodiscard]] Index owned(int part) const;
  /// The part that owns an index, of an unstructured map the lowest one that has the label.
  /// @throws Error kKey for an index outside of the extent or a label that nobody has.
  [[nodiscard]] int owner(Index global) const;
  /// All parts that own it, ascending. @throws as owner().
  [[nodiscard]] std::vector<int> owners(Index global) const;
  /// The part's number for an index, or nothing if it does not own it. @throws Error kKey for an
  /// index outside of the extent.
  [[nodiscard]] std::optional<Index> local(int part, Index global) const;
  /// The index (or label) of the part's local element. @throws Error kKey if the part does not have
  /// so many.
  [[nodiscard]] Index global(int part, Index local) const;

  /// A collapsed or block map's [begin, end) of a part. @throws Error kUnsupported for other kinds.
  [[nodiscard]] std::pair<Index, Index> block_of(int part) const;
  /// [begin, end) of a part whose local elements 0, 1, ... are consecutive indices because of the
  /// map's kind and numbers: also a block-cyclic map's part with one block. Nothing for other parts
  /// and for unstructured maps.
  [[nodiscard]] std::optional<std::pair<Index, Index>> contiguous(int part) const;
  /// The block size of a block-cyclic map. @throws Error kUnsupported for other kinds.
  [[nodiscard]] Index block_size() const;
  /// The part of the first block of a block-cyclic map. @throws Error kUnsupported for other kinds.
  [[nodiscard]] int first_part() const;
  /// The lists of an unstructured map. @throws Error kUnsupported for other kinds.
  [[nodiscard]] const UnstructuredMap& labels() const;

  /// What the part owns of a section: every element once, runs ordered by their first position. Of
  /// an unstructured map, a section is one of labels, and those of its numbers that nobody has are
  /// in no run.
  /// @throws Error kKey or kArgument for a section that leaves the axis (check_triplet()).
  [[nodiscard]] std::vector<Run> runs(int part, const Triplet& section) const;
  /// The same with repetitions: of a block-cyclic map, no more runs than fall into one period of
  /// the pattern (lcm(block * parts, |step|) indices; two runs where it is cut), however long the
  /// section is. Ordered by first position.
  [[nodiscard]] std::vector<RepeatedRun> repeated_runs(int part, const Triplet& section) const;
  /// After how many positions of a section with that step a map repeats: for block-cyclic maps of
  /// several parts; 0 for other maps.
  [[nodiscard]] Index position_period(Index step) const;

  /// The same kind, and the same indices in each part.
  bool operator==(const DimMap& other) const;
  [[nodiscard]] std::uint64_t hash() const;

 private:
  using Variant = std::variant<CollapsedMap, CeilingMap, BalancedMap, BoundedMap, BlockCyclicMap,
                               UnstructuredMap>;
  explicit DimMap(Variant map) : map_(std::move(map)) {}

  template <class Map>
  [[nodiscard]] static bool in_range(const Map& map, Index global) {
    if constexpr (requires { map.contains(global); }) {
      return map.contains(global);
    } else {
      return global >= 0 && global < map.extent();
    }
  }
  void check_part(int part) const {
    if (part < 0 || part >= parts()) wrong_part(part);
  }
  [[noreturn]] void wrong_part(int part) const;
  [[noreturn]] void wrong_index(Index global) const;
  [[noreturn]] void wrong_local(int part, Index local) const;

  Variant map_;
};

/// Whether two parts own the same indices in the same order. Constant time for maps that are not
/// unstructured.
[[nodiscard]] bool same_piece(const DimMap& a, int part_a, const DimMap& b, int part_b);

inline Index DimMap::extent() const {
  return std::visit([](const auto& map) { return map.extent(); }, map_);
}

inline int DimMap::parts() const {
  return std::visit([](const auto& map) { return map.parts(); }, map_);
}

inline bool DimMap::contains(Index global) const {
  return std::visit([&](const auto& map) { return in_range(map, global); }, map_);
}

inline Index DimMap::owned(int part) const {
  return std::visit(
      [&](const auto& map) {
        if (part < 0 || part >= map.parts()) wrong_part(part);
        return map.owned(part);
      },
      map_);
}

// One dispatch for the checks and the answer: these are asked for every element.
inline int DimMap::owner(Index global) const {
  return std::visit(
      [&](const auto& map) {
        if (!in_range(map, global)) wrong_index(global);
        return map.owner(global);
      },
      map_);
}

inline std::optional<Index> DimMap::local(int part, Index global) const {
  const Index local = std::visit(
      [&](const auto& map) {
        if (part < 0 || part >= map.parts()) wrong_part(part);
        if (!in_range(map, global)) wrong_index(global);
        return map.local(part, global);
      },
      map_);
  return local < 0 ? std::nullopt : std::optional<Index>(local);
}

inline Index DimMap::global(int part, Index local) const {
  return std::visit(
      [&](const auto& map) {
        if (part < 0 || part >= map.parts()) wrong_part(part);
        if (local < 0 || local >= map.owned(part)) wrong_local(part, local);
        return map.global(part, local);
      },
      map_);
}

}  // namespace impishim::darray
