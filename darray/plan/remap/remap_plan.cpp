// SPDX-License-Identifier: Apache-2.0
// The planning of one rank's work in a remap.
#include <algorithm>

#include "darray/plan/core/detail/owned_elements.hpp"
#include "darray/plan/core/detail/patches.hpp"
#include "darray/plan/remap/detail/axis_pairs.hpp"
#include "darray/plan/remap/detail/copies.hpp"
#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {
namespace {

using End = OverlapProduct::End;

/// One side of the pairs, either for a rank or without one.
struct Side {
  const Distribution& layout;
  std::vector<int> axes;        // axis of the layout for each pair
  std::vector<int> parts = {};  // this rank's part for each pair
  BufferShape buffer = {};      // this rank's buffer, with a stride for each pair

  [[nodiscard]] int weight(std::size_t pair) const {
    const int dimension = axes[pair] == PairedAxis::kNoAxis
                              ? kNotDistributed
                              : layout.axis(axes[pair]).grid_dimension;
    return dimension == kNotDistributed ? 0 : layout.grid().stride(dimension);
  }
};

void place_rank(Side& side, int rank, const std::vector<Index>& strides) {
  const BufferShape buffer = buffer_shape(side.layout, rank, strides);
  const std::vector<int> parts = side.layout.parts(rank);
  side.buffer.origin = buffer.origin;
  for (const int axis : side.axes) {
    const bool real = axis != PairedAxis::kNoAxis;
    side.parts.push_back(real ? parts[static_cast<std::size_t>(axis)] : 0);
    side.buffer.strides.push_back(real ? buffer.strides[static_cast<std::size_t>(axis)] : 0);
  }
}

/// A part of the other side along one axis, and the elements that it shares with this rank's part.
struct Partner {
  int part;
  std::vector<Overlap> common;
};

class RemapPlanner {
 public:
  RemapPlanner(int rank, const Systems& systems, std::vector<AxisPair> pairs,
               const RemapSide& destination, const RemapSide& source, bool lowest_label_only)
      : rank_(rank),
        systems_(systems),
        pairs_(std::move(pairs)),
        to_{destination.layout, {}},
        from_{source.layout, {}},
        lowest_label_only_(lowest_label_only) {
    for (const AxisPair& pair : pairs_) {
      to_.axes.push_back(pair.to.axis);
      from_.axes.push_back(pair.from.axis);
    }
    receives_ = to_.layout.is_member(rank);
    sends_ = from_.layout.is_member(rank);
    if (receives_) place_rank(to_, rank, destination.strides);
    if (sends_) place_rank(from_, rank, source.strides);
  }

  MessageList plan() {
    if (sends_) plan_sends();
    if (receives_) plan_receives();
    return std::move(plan_);
  }

  /// Plans the case in which every rank keeps its elements.
  MessageList plan_in_place() {
    if (!sends_) return {};
    const auto axes = own(&AxisPair::from, from_);
    const OverlapProduct crossing = crossing_of(axes);
    plan_.add_local(crossing.elements(End::kA, from_.buffer.origin, from_.buffer.strides),
                    crossing.elements(End::kA, to_.buffer.origin, to_.buffer.strides));
    return std::move(plan_);
  }

 private:
  [[nodiscard]] static OverlapProduct crossing_of(const std::vector<std::vector<Overlap>>& axes) {
    std::vector<const std::vector<Overlap>*> pointers;
    for (const auto& axis : axes) pointers.push_back(&axis);
    return OverlapProduct(std::move(pointers));
  }

  /// Returns this rank's elements of one side's section, as end a of overlaps.
  [[nodiscard]] std::vector<std::vector<Overlap>> own(PairedAxis AxisPair::*end,
                                                      const Side& side) const {
    std::vector<std::vector<Overlap>> axes;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      axes.push_back(owned_elements((pairs_[k].*end).map, side.parts[k], (pairs_[k].*end).section));
    }
    return axes;
  }

  [[nodiscard]] std::vector<Overlap> common(const AxisPair& pair, int from_part,
                                            int to_part) const {
    return common_elements(pair, from_part, to_part, lowest_label_only_);
  }

  /// Returns, for each axis, the parts of the other side that share elements with this rank's part.
  [[nodiscard]] std::vector<std::vector<Partner>> partners_of(bool sending) const {
    std::vector<std::vector<Partner>> all(pairs_.size());
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const auto& [to, from] = pairs_[k];
      const int mine = sending ? from_.parts[k] : to_.parts[k];
      const PairedAxis& here = sending ? from : to;
      const PairedAxis& there = sending ? to : from;
      for (const int part : partners(here.map, mine, here.section, there.map, there.section)) {
        std::vector<Overlap> met =
            sending ? common(pairs_[k], mine, part) : common(pairs_[k], part, mine);
        if (!met.empty()) all[k].push_back({part, std::move(met)});
      }
    }
    return all;
  }

  /// Calls use(primary copy of a piece of the other side, the elements that it shares with this
  /// rank's piece).
  template <class Use>
  void for_all_partners(const Side& other, const std::vector<std::vector<Partner>>& partners,
                        const Use& use) const {
    std::vector<std::size_t> extents;
    for (const auto& axis : partners) extents.push_back(axis.size());
    for_all_tuples(extents, [&](const std::vector<std::size_t>& numbers) {
      int place = 0;
      std::vector<const std::vector<Overlap>*> met(partners.size());
      for (std::size_t k = 0; k < partners.size(); ++k) {
        const Partner& partner = partners[k][numbers[k]];
        place += partner.part * other.weight(k);
        met[k] = &partner.common;
      }
      use(other.layout.grid().rank_at(place), OverlapProduct(std::move(met)));
    });
  }

  void plan_sends() {
    const int primary = from_.layout.primary(rank_);
    for_all_partners(to_, partners_of(true), [&](int piece, const OverlapProduct& met) {
      for (const int receiver : receiving_copies(to_.layout, piece, systems_)) {
        if (nearest_copy(from_.layout, primary, receiver, systems_) != rank_) continue;
        Selection sent = met.elements(End::kA, from_.buffer.origin, from_.buffer.strides);
        if (receiver == rank_) {
          plan_.add_local(std::move(sent),
                          met.elements(End::kB, to_.buffer.origin, to_.buffer.strides));
        } else {
          plan_.add_send(receiver, std::move(sent));
        }
      }
    });
  }

  void plan_receives() {
    const std::vector<int> receivers =
        receiving_copies(to_.layout, to_.layout.primary(rank_), systems_);
    if (std::ranges::find(receivers, rank_) != receivers.end()) {
      for_all_partners(from_, partners_of(false), [&](int piece, const OverlapProduct& met) {
        const int sender = nearest_copy(from_.layout, piece, rank_, systems_);
        if (sender != rank_)
          plan_.add_receive(sender, met.elements(End::kB, to_.buffer.origin, to_.buffer.strides));
      });
    }
    if (auto spread = spreading(to_.layout, rank_, systems_)) {
      const auto axes = own(&AxisPair::to, to_);
      Selection elements =
          crossing_of(axes).elements(End::kA, to_.buffer.origin, to_.buffer.strides);
      if (!elements.empty())
        plan_.multicast = {spread->root, std::move(spread->members), std::move(elements)};
    }
  }

  int rank_;
  const Systems& systems_;
  std::vector<AxisPair> pairs_;
  Side to_;
  Side from_;
  bool lowest_label_only_;
  bool sends_ = false;
  bool receives_ = false;
  MessageList plan_;
};

/// Returns true if both sides select the same elements of the same layout, and several parts may
/// own some of them.
bool stays_in_place(const std::vector<AxisPair>& pairs, const RemapSide& destination,
                    const RemapSide& source, const RemapOptions& options) {
  if (options.duplicates == Duplicates::kAll) return false;
  if (std::ranges::none_of(pairs,
                           [](const AxisPair& pair) { return has_shared_labels(pair.from.map); }))
    return false;
  return destination.layout == source.layout &&
         std::ranges::all_of(pairs, [](const AxisPair& pair) {
           return pair.to.axis == pair.from.axis && pair.to.section == pair.from.section;
         });
}

}  // namespace

MessageList plan_remap(int rank, const Systems& systems, const RemapSide& destination,
                       const RemapSide& source, const RemapOptions& options, Coverage coverage) {
  std::vector<AxisPair> pairs =
      pair_axes(destination, source, options.permutation, coverage == Coverage::kAll);
  const bool in_place = stays_in_place(pairs, destination, source, options);
  RemapPlanner planner(rank, systems, std::move(pairs), destination, source,
                       options.duplicates == Duplicates::kLowest);
  return in_place ? planner.plan_in_place() : planner.plan();
}

}  // namespace impishim::darray
