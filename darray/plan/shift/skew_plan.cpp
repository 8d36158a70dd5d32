// SPDX-License-Identifier: Apache-2.0
// The planning of one rank's work in a skew, which shifts each line by its own amount.
#include <algorithm>
#include <map>

#include "darray/base/error.hpp"
#include "darray/plan/core/detail/owned_elements.hpp"
#include "darray/plan/core/detail/patches.hpp"
#include "darray/plan/shift/detail/shift_sections.hpp"

namespace impishim::darray {
namespace {

/// The work for one line, which depends on its amount.
struct LinePlan {
  struct Meeting {
    int part;
    std::vector<Overlap> common;  // a: source, b: destination
  };
  std::vector<Meeting> sends;     // to parts, including this one
  std::vector<Meeting> receives;  // from parts, without this one
  std::vector<Overlap> fill;
};

LinePlan plan_line(const DimMap& map, int part, Index amount, ShiftMode mode) {
  LinePlan plan;
  const ShiftedSections sections = shifted_sections(map.extent(), amount, mode);
  for (const auto& [to, from] : sections.moves) {
    for (const int other : partners(map, part, from, map, to)) {
      plan.sends.push_back({other, overlaps(map, part, from, map, other, to)});
    }
    for (const int other : partners(map, part, to, map, from)) {
      if (other != part)
        plan.receives.push_back({other, overlaps(map, other, from, map, part, to)});
    }
  }
  if (!sections.fill.empty()) plan.fill = owned_elements(map, part, sections.fill);
  return plan;
}

class SkewPlanner {
 public:
  SkewPlanner(int rank, const RemapSide& destination, const RemapSide& source, int axis,
              ShiftMode mode)
      : layout_(destination.layout),
        axis_(static_cast<std::size_t>(axis)),
        mode_(mode),
        part_(layout_.part(rank, axis)),
        place_(*layout_.grid().place_of(rank)),
        to_(buffer_shape(destination.layout, rank, destination.strides)),
        from_(buffer_shape(source.layout, rank, source.strides)) {
    extents_ = layout_.owned_shape(rank);
    extents_.erase(extents_.begin() + axis);
    for (std::size_t each = 0; each < to_.strides.size(); ++each) {
      if (each == axis_) continue;
      to_strides_.push_back(to_.strides[each]);
      from_strides_.push_back(from_.strides[each]);
    }
  }

  MessageList plan(std::span<const Index> amounts) {
    Index lines = 1;
    for (const Index extent : extents_) lines *= extent;
    if (static_cast<Index>(amounts.size()) != lines) {
      fail(ErrorKind::kShape, "axis {}: {} amounts for {} lines", axis_, amounts.size(), lines);
    }
    // Adjacent lines along the last other axis that have the same amount are planned together.
    const Index row = extents_.empty() ? 1 : extents_.back();
    for (Index first = 0; first < lines;) {
      const Index end_of_row = first - first % row + row;
      Index end = first + 1;
      while (end < end_of_row && amount(amounts, end) == amount(amounts, first)) ++end;
      add_lines(first, end - first, amount(amounts, first));
      first = end;
    }
    MessageList plan;
    for (auto& [part, elements] : sends_) plan.add_send(rank_of(part), std::move(elements));
    for (auto& [part, elements] : receives_) plan.add_receive(rank_of(part), std::move(elements));
    plan.add_local(std::move(stays_from_), std::move(stays_to_));
    plan.fills = std::move(fills_);
    return plan;
  }

 private:
  // Returns the amount in a normal form: amounts with the same effect become equal.
  [[nodiscard]] Index amount(std::span<const Index> amounts, Index line) const {
    const Index extent = layout_.axes()[axis_].map.extent();
    const Index value = amounts[static_cast<std::size_t>(line)];
    if (extent == 0) return 0;
    return mode_ == ShiftMode::kCyclic ? (value % extent + extent) % extent
                                       : std::clamp(value, -extent, extent);
  }

  [[nodiscard]] int rank_of(int part) const {
    const int dimension = layout_.axes()[axis_].grid_dimension;
    const int stride = dimension == kNotDistributed ? 0 : layout_.grid().stride(dimension);
    return layout_.grid().rank_at(place_ + (part - part_) * stride);
  }

  [[nodiscard]] Index offset_of(Index line, const std::vector<Index>& strides) const {
    Index offset = 0;
    for (std::size_t axis = extents_.size(); axis-- > 0;) {
      offset += line % extents_[axis] * strides[axis];
      line /= extents_[axis];
    }
    return offset;
  }

  void add_lines(Index first, Index count, Index amount) {
    auto [known, is_new] = lines_.try_emplace(amount);
    if (is_new) known->second = plan_line(layout_.axes()[axis_].map, part_, amount, mode_);
    // The lines act as an axis whose elements are the same at both ends.
    Overlap together;
    together.count = count;
    const std::vector<Overlap> lines{together};
    const auto add = [&](Selection& sum, const std::vector<Overlap>& along,
                         OverlapProduct::End end) {
      const bool source = end == OverlapProduct::End::kA;
      const BufferShape& buffer = source ? from_ : to_;
      const std::vector<Index>& strides = source ? from_strides_ : to_strides_;
      const std::vector<Index> both{strides.empty() ? 0 : strides.back(), buffer.strides[axis_]};
      sum.add(OverlapProduct({&lines, &along})
                  .elements(end, buffer.origin + offset_of(first, strides), both));
    };
    for (const auto& [part, common] : known->second.sends) {
      if (part == part_) {
        add(stays_from_, common, OverlapProduct::End::kA);
        add(stays_to_, common, OverlapProduct::End::kB);
      } else {
        add(sends_[part], common, OverlapProduct::End::kA);
      }
    }
    for (const auto& [part, common] : known->second.receives)
      add(receives_[part], common, OverlapProduct::End::kB);
    std::vector<Overlap> fill = known->second.fill;
    for (Overlap& each : fill) {
      each.local_b = each.local_a;
      each.step_b = each.step_a;
      each.period_b = each.period_a;
    }
    if (!fill.empty()) add(fills_, fill, OverlapProduct::End::kB);
  }

  const Distribution& layout_;
  std::size_t axis_;
  ShiftMode mode_;
  int part_;
  int place_;
  BufferShape to_;
  BufferShape from_;
  std::vector<Index> extents_;  // extents of the other axes; their strides follow
  std::vector<Index> to_strides_;
  std::vector<Index> from_strides_;
  std::map<Index, LinePlan> lines_;  // by amount
  std::map<int, Selection> sends_;   // by part
  std::map<int, Selection> receives_;
  Selection stays_from_;
  Selection stays_to_;
  Selection fills_;
};

}  // namespace

MessageList plan_skew(int rank, const RemapSide& destination, const RemapSide& source, int axis,
                      std::span<const Index> amounts, ShiftMode mode) {
  check_shift(destination, source, axis);
  const Distribution& to = destination.layout;
  const Distribution& from = source.layout;
  if (!(to.grid() == from.grid()))
    fail(ErrorKind::kLayout, "a skew between arrays on different grids: remap one of them first");
  for (int each = 0; each < to.dimensions(); ++each) {
    if (to.axis(each).map == from.axis(each).map &&
        to.axis(each).grid_dimension == from.axis(each).grid_dimension)
      continue;
    fail(ErrorKind::kLayout,
         "axis {}: a skew between arrays with different maps: remap one of them first", each);
  }
  if (!to.is_member(rank) || mode == ShiftMode::kNone) return {};
  return SkewPlanner(rank, destination, source, axis, mode).plan(amounts);
}

}  // namespace impishim::darray
