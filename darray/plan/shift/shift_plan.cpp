// SPDX-License-Identifier: Apache-2.0
// The planning of one rank's work in a shift.
#include <algorithm>
#include <array>

#include "darray/base/error.hpp"
#include "darray/plan/core/detail/owned_elements.hpp"
#include "darray/plan/core/detail/patches.hpp"
#include "darray/plan/shift/detail/shift_sections.hpp"

namespace impishim::darray {
namespace {

/// Returns the destination elements that a rank owns of a section.
Selection own_section(const RemapSide& side, int rank, const Section& section) {
  if (!side.layout.is_member(rank)) return {};
  std::vector<std::vector<Overlap>> axes;
  std::vector<const std::vector<Overlap>*> pointers;
  for (int axis = 0; axis < side.layout.dimensions(); ++axis) {
    axes.push_back(owned_elements(side.layout.axis(axis).map, side.layout.part(rank, axis),
                                  section[static_cast<std::size_t>(axis)]));
  }
  for (const auto& axis : axes) pointers.push_back(&axis);
  const BufferShape buffer = buffer_shape(side.layout, rank, side.strides);
  return OverlapProduct(std::move(pointers))
      .elements(OverlapProduct::End::kA, buffer.origin, buffer.strides);
}

}  // namespace

ShiftedSections shifted_sections(Index extent, Index amount, ShiftMode mode) {
  ShiftedSections sections;
  if (extent == 0 || mode == ShiftMode::kNone) return sections;
  if (mode == ShiftMode::kCyclic) {
    const Index turn = (amount % extent + extent) % extent;
    sections.moves.push_back({{0, extent - turn, 1}, {turn, extent - turn, 1}});
    if (turn > 0) sections.moves.push_back({{extent - turn, turn, 1}, {0, turn, 1}});
    return sections;
  }
  const Index kept = std::clamp(amount, -extent, extent);
  const Index moving = extent - std::max(kept, -kept);
  if (moving > 0)
    sections.moves.push_back(
        {{std::max<Index>(0, -kept), moving, 1}, {std::max<Index>(0, kept), moving, 1}});
  if (mode == ShiftMode::kFill) sections.fill = {kept > 0 ? moving : 0, extent - moving, 1};
  return sections;
}

void check_shift(const RemapSide& destination, const RemapSide& source, int axis) {
  if (axis < 0 || axis >= destination.layout.dimensions()) {
    fail(ErrorKind::kArgument, "a shift along axis {} of an array with {}", axis,
         destination.layout.dimensions());
  }
  for (const RemapSide* side : {&destination, &source}) {
    if (!side->section.empty())
      fail(ErrorKind::kUnsupported,
           "a shift takes whole arrays: remap the section to an array first");
    for (int each = 0; each < side->layout.dimensions(); ++each) {
      if (side->layout.axis(each).map.kind() == DimMap::Kind::kUnstructured) {
        fail(ErrorKind::kUnsupported, "axis {}: labels have no neighbours that a shift could count",
             each);
      }
    }
  }
  if (destination.layout.shape() != source.layout.shape()) {
    fail(ErrorKind::kShape, "a shift between arrays of different shapes");
  }
}

MessageList plan_shift(int rank, const Systems& systems, const RemapSide& destination,
                       const RemapSide& source, int axis, Index amount, ShiftMode mode) {
  check_shift(destination, source, axis);
  const auto moved = static_cast<std::size_t>(axis);
  const Section whole = whole_section(destination.layout.shape());
  const ShiftedSections sections = shifted_sections(whole[moved].count, amount, mode);
  MessageList plan;
  for (const auto& [to, from] : sections.moves) {
    Section to_section = whole;
    Section from_section = whole;
    to_section[moved] = to;
    from_section[moved] = from;
    plan.append(plan_remap(rank, systems, {destination.layout, to_section, destination.strides},
                           {source.layout, from_section, source.strides}));
  }
  if (!sections.fill.empty()) {
    Section filled = whole;
    filled[moved] = sections.fill;
    plan.fills = own_section(destination, rank, filled);
  }
  return plan;
}

}  // namespace impishim::darray
