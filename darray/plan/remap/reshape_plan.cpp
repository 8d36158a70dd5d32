// SPDX-License-Identifier: Apache-2.0
// The planning of one rank's work in a reshape, which keeps the flat row-major order of the
// elements.
#include <algorithm>
#include <map>

#include "darray/base/error.hpp"
#include "darray/plan/core/detail/patches.hpp"
#include "darray/plan/remap/detail/copies.hpp"
#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {
namespace {

/// Elements of a rank's owned part with consecutive numbers in the part's row-major order.
struct Interval {
  Index first;
  Index count;
};

/// A layout in terms of flat indices. The axes after `split` are not distributed, so blocks of
/// `block` elements stay together.
class FlatLayout {
 public:
  explicit FlatLayout(const Distribution& layout) : layout_(layout) {
    split_ = layout.dimensions() - 1;
    while (split_ >= 0 && layout.axis(split_).map.parts() == 1) {
      block_ *= layout.axis(split_).map.extent();
      --split_;
    }
  }

  /// Calls use(first flat index, count) for the elements that a rank owns, in ascending order. This
  /// is also the row-major order of its owned part.
  template <class Use>
  void for_all_owned(int rank, const Use& use) const {
    if (layout_.owned_size(rank) == 0) return;
    std::vector<std::size_t> extents;
    for (int axis = 0; axis < split_; ++axis)
      extents.push_back(static_cast<std::size_t>(map(axis).owned(part(rank, axis))));
    for_all_tuples(extents, [&](const std::vector<std::size_t>& locals) {
      Index row = 0;
      for (int axis = 0; axis < split_; ++axis) {
        const auto local = static_cast<Index>(locals[static_cast<std::size_t>(axis)]);
        row = row * map(axis).extent() + map(axis).global(part(rank, axis), local);
      }
      if (split_ < 0) {
        use(0, block_);
        return;
      }
      const DimMap& last = map(split_);
      row *= last.extent();
      const int mine = part(rank, split_);
      for (Index local = 0; local < last.owned(mine);) {
        const Index global = last.global(mine, local);
        const Index count = end_of_block(last, mine, global) - global;
        use((row + global) * block_, count * block_);
        local += count;
      }
    });
  }

  /// Returns the primary copy that has a flat index, and the number of elements from there that are
  /// certainly in the same piece.
  [[nodiscard]] std::pair<int, Index> owner(Index flat) const {
    if (split_ < 0) return {layout_.grid().rank_at(0), block_ - flat};
    Index rest = flat / block_;
    int place = 0;
    Index together = 0;
    for (int axis = split_; axis >= 0; --axis) {
      const Index global = rest % map(axis).extent();
      rest /= map(axis).extent();
      const int part = map(axis).owner(global);
      const int dimension = layout_.axis(axis).grid_dimension;
      if (dimension != kNotDistributed) place += part * layout_.grid().stride(dimension);
      if (axis == split_)
        together = (end_of_block(map(axis), part, global) - global) * block_ - flat % block_;
    }
    return {layout_.grid().rank_at(place), together};
  }

 private:
  [[nodiscard]] const DimMap& map(int axis) const { return layout_.axis(axis).map; }
  [[nodiscard]] int part(int rank, int axis) const { return layout_.part(rank, axis); }
  static Index end_of_block(const DimMap& map, int part, Index global) {
    if (map.kind() != DimMap::Kind::kBlockCyclic) return map.block_of(part).second;
    return std::min(map.extent(), (global / map.block_size() + 1) * map.block_size());
  }

  const Distribution& layout_;
  int split_;
  Index block_ = 1;
};

/// Returns the elements that a rank owns of one array, grouped by the pieces of the other array.
std::map<int, std::vector<Interval>> intervals_by_piece(int rank, const FlatLayout& mine,
                                                        const FlatLayout& other) {
  std::map<int, std::vector<Interval>> pieces;
  Index number = 0;
  mine.for_all_owned(rank, [&](Index flat, Index count) {
    while (count > 0) {
      const auto [piece, together] = other.owner(flat);
      const Index taken = std::min(count, together);
      std::vector<Interval>& intervals = pieces[piece];
      if (!intervals.empty() && intervals.back().first + intervals.back().count == number) {
        intervals.back().count += taken;
      } else {
        intervals.push_back({number, taken});
      }
      number += taken;
      flat += taken;
      count -= taken;
    }
  });
  return pieces;
}

Patch owned_patch(const RemapSide& side, int rank) {
  const BufferShape buffer = buffer_shape(side.layout, rank, side.strides);
  Patch patch{buffer.origin, {}};
  const std::vector<Index> extents = side.layout.owned_shape(rank);
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    patch.dimensions.push_back({extents[axis], buffer.strides[axis]});
  return patch.normalised();
}

/// Converts intervals to elements. Equal intervals at equal distances become one patch if the owned
/// part is regular enough.
Selection elements_of(const Patch& owned, const std::vector<Interval>& intervals) {
  const bool regular = owned.dimensions.size() <= 1;
  const Index stride = owned.dimensions.empty() ? 1 : owned.dimensions[0].stride;
  Selection selection;
  for (std::size_t k = 0; k < intervals.size();) {
    const auto [first, count] = intervals[k];
    if (!regular) {
      for (Patch& patch : owned.slice(first, count)) selection.add(std::move(patch));
      ++k;
      continue;
    }
    std::size_t end = k + 1;
    const Index distance = end < intervals.size() ? intervals[end].first - first : 0;
    while (end < intervals.size() && intervals[end].count == count &&
           intervals[end].first - intervals[end - 1].first == distance) {
      ++end;
    }
    const auto repeats = static_cast<Index>(end - k);
    selection.add(
        Patch{owned.offset + first * stride, {{repeats, distance * stride}, {count, stride}}});
    k = end;
  }
  return selection;
}

void check(const RemapSide& destination, const RemapSide& source) {
  if (destination.layout.size() != source.layout.size()) {
    fail(ErrorKind::kShape, "a reshape of {} elements to {}: both numbers are equal",
         source.layout.size(), destination.layout.size());
  }
  for (const RemapSide* side : {&destination, &source}) {
    if (!side->section.empty())
      fail(ErrorKind::kUnsupported,
           "a reshape takes whole arrays: remap the section to an array first");
    if (!side->strides.empty() && side->strides.size() != side->layout.axes().size()) {
      fail(ErrorKind::kArgument, "{} strides for an array with {} axes", side->strides.size(),
           side->layout.axes().size());
    }
    for (int axis = 0; axis < side->layout.dimensions(); ++axis) {
      if (side->layout.axis(axis).map.kind() != DimMap::Kind::kUnstructured) continue;
      fail(ErrorKind::kUnsupported,
           "axis {}: labels have no order in which a reshape could count: remap to another map "
           "first",
           axis);
    }
  }
}

}  // namespace

MessageList plan_reshape(int rank, const Systems& systems, const RemapSide& destination,
                         const RemapSide& source) {
  check(destination, source);
  const Distribution& to = destination.layout;
  const Distribution& from = source.layout;
  const FlatLayout flat_to(to);
  const FlatLayout flat_from(from);
  MessageList plan;
  Selection stays_from;
  Selection stays_to;
  if (from.is_member(rank)) {
    const Patch owned = owned_patch(source, rank);
    for (const auto& [piece, intervals] : intervals_by_piece(rank, flat_from, flat_to)) {
      for (const int receiver : receiving_copies(to, piece, systems)) {
        if (nearest_copy(from, from.primary(rank), receiver, systems) != rank) continue;
        Selection sent = elements_of(owned, intervals);
        if (receiver == rank) {
          stays_from = std::move(sent);
        } else {
          plan.add_send(receiver, std::move(sent));
        }
      }
    }
  }
  if (to.is_member(rank)) {
    const Patch owned = owned_patch(destination, rank);
    const std::vector<int> receivers = receiving_copies(to, to.primary(rank), systems);
    if (std::ranges::find(receivers, rank) != receivers.end()) {
      for (const auto& [piece, intervals] : intervals_by_piece(rank, flat_to, flat_from)) {
        const int sender = nearest_copy(from, piece, rank, systems);
        if (sender == rank) {
          stays_to = elements_of(owned, intervals);
        } else {
          plan.add_receive(sender, elements_of(owned, intervals));
        }
      }
    }
    auto spread = spreading(to, rank, systems);
    if (spread && owned.size() > 0)
      plan.multicast = {spread->root, std::move(spread->members), owned};
  }
  plan.add_local(std::move(stays_from), std::move(stays_to));
  return plan;
}

}  // namespace impishim::darray
