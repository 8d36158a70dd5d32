// SPDX-License-Identifier: Apache-2.0
/// The maps that divide the indices of one axis among parts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "darray/index/index_run.hpp"
#include "darray/index/structured_map.hpp"
#include "darray/index/triplet.hpp"
#include "darray/index/unstructured_map.hpp"

namespace impishim::darray {

/// An immutable map of the indices 0 to extent-1 of an axis (or of the labels of an unstructured
/// axis) to parts 0 to parts-1. Each part numbers its elements from 0. Copies are cheap, since long
/// lists are shared. Queries take constant time, with two exceptions: owner() takes the logarithm
/// of the number of parts for a bounded map, and of the number of labels for an unstructured map.
class DimMap {
 public:
  enum class Kind : std::uint8_t { kCollapsed, kBlock, kBlockCyclic, kUnstructured };

  /// Creates a map that is not distributed: one part owns all indices. All of these functions throw
  /// Error kLayout for a negative extent, an extent above 2^62, or parts < 1.
  [[nodiscard]] static DimMap collapsed(Index extent);
  /// Creates blocks of ceil(extent / parts). The last parts may be short or empty: 10 on 4 gives 3,
  /// 3, 3, 1.
  [[nodiscard]] static DimMap block(Index extent, int parts);
  /// Creates blocks of which the first (extent mod parts) have one index more than the others: 10
  /// on 4 gives 3, 3, 2, 2.
  [[nodiscard]] static DimMap balanced(Index extent, int parts);
  /// Creates blocks of any lengths: part p owns bounds[p] up to bounds[p + 1].
  /// @throws Error kLayout unless the bounds begin with 0 and ascend.
  [[nodiscard]] static DimMap bounded(std::vector<Index> bounds);
  /// Deals blocks of `block` indices round-robin, the first one to part `first`.
  /// @throws Error kLayout unless block >= 1, 0 <= first < parts and block * parts <= 2^62.
  [[nodiscard]] static DimMap block_cyclic(Index extent, int parts, Index block = 1, int first = 0);
  /// Creates an unstructured map: part p owns these labels in this order. See UnstructuredMap.
  [[nodiscard]] static DimMap unstructured(std::vector<std::vector<Index>> labels, bool one_to_one);

  [[nodiscard]] Kind kind() const;
  /// Returns the number of indices. For an unstructured map it is the sum of the lengths of the
  /// lists.
  [[nodiscard]] Index extent() const;
  [[nodiscard]] int parts() const;
  [[nodiscard]] bool contains(Index global) const;

  /// Returns the number of indices that a part owns.
  /// @throws Error kArgument if the part does not exist, as all queries about a part do.
  [[nodiscard]] Index owned(int part) const;
  /// Returns the part that owns an index. For an unstructured map it is the lowest part that has
  /// the label.
  /// @throws Error kKey for an index outside the extent or a label that no part has.
  [[nodiscard]] int owner(Index global) const;
  /// Returns all parts that own the index, ascending.
  /// @throws as owner().
  [[nodiscard]] std::vector<int> owners(Index global) const;
  /// Returns the local index in a part, or nothing if the part does not own the index.
  /// @throws Error kKey for an index outside the extent.
  [[nodiscard]] std::optional<Index> local(int part, Index global) const;
  /// Returns the index (or label) of a local element of the part.
  /// @throws Error kKey if the part has fewer elements.
  [[nodiscard]] Index global(int part, Index local) const;

  /// Returns the interval [begin, end) of a part of a collapsed or block map.
  /// @throws Error kUnsupported for other kinds.
  [[nodiscard]] std::pair<Index, Index> block_of(int part) const;
  /// Returns [begin, end) if the kind and the numbers of the map make the local elements 0, 1, ...
  /// of the part consecutive indices. This includes a part of a block-cyclic map that has one
  /// block. Returns nothing for other parts and for unstructured maps.
  [[nodiscard]] std::optional<std::pair<Index, Index>> contiguous(int part) const;
  /// Returns the block size of a block-cyclic map.
  /// @throws Error kUnsupported for other kinds.
  [[nodiscard]] Index block_size() const;
  /// Returns the part that has the first block of a block-cyclic map.
  /// @throws Error kUnsupported for other kinds.
  [[nodiscard]] int first_part() const;
  /// Returns the lists of an unstructured map.
  /// @throws Error kUnsupported for other kinds.
  [[nodiscard]] const UnstructuredMap& labels() const;

  /// Returns the elements of a section that the part owns, each once, as runs ordered by their
  /// first position. For an unstructured map the section consists of labels; labels that no part
  /// has are in no run.
  /// @throws Error kKey or kArgument for a section that leaves the axis (check_triplet()).
  [[nodiscard]] std::vector<IndexRun> runs(int part, const Triplet& section) const;
  /// Returns the same with repetitions, ordered by first position. For a block-cyclic map these are
  /// at most the runs of one period of the pattern (lcm(block * parts, |step|) indices), and two
  /// runs where a run is cut, however long the section is.
  [[nodiscard]] std::vector<RepeatedRun> repeated_runs(int part, const Triplet& section) const;
  /// Returns the number of positions of a section with that step after which the pattern of the map
  /// repeats. Returns 0 for maps other than block-cyclic ones of several parts.
  [[nodiscard]] Index position_period(Index step) const;

  /// Returns true if both maps are of the same kind and have the same indices in each part.
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

/// Returns true if two parts own the same indices in the same order. Takes constant time for maps
/// that are not unstructured.
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

// One dispatch serves the checks and the answer, since these queries are made for every element.
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
