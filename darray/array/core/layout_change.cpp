// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include "darray/array/core/dist_array.hpp"
#include "darray/array/core/local_copy.hpp"
#include "darray/index/make_distribution.hpp"

namespace impishim::darray {

std::optional<Section> owned_section(const Layout& layout) {
  Section section;
  for (int axis = 0; axis < layout.distribution().dimensions(); ++axis) {
    const auto piece = layout.distribution().axis(axis).map.contiguous(
        layout.distribution().part(layout.rank(), axis));
    if (!piece) return std::nullopt;
    section.push_back({piece->first, piece->second - piece->first, 1});
  }
  return section;
}

void check_global_shape(const Layout& layout, std::span<const Index> extents) {
  if (std::ranges::equal(layout.shape(), extents)) return;
  fail(ErrorKind::kShape, "global data of shape ({}) for an array of shape ({})",
       fmt::join(extents, ", "), fmt::join(layout.shape(), ", "));
}

void check_labels_are_indices(const Layout& layout,
                              const std::vector<std::vector<Index>>& indices) {
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    if (layout.distribution().axis(static_cast<int>(axis)).map.kind() !=
        DimMap::Kind::kUnstructured)
      continue;
    for (const Index index : indices[axis]) {
      if (index >= 0 && index < layout.shape()[axis]) continue;
      fail(ErrorKind::kKey, "axis {}: label {} is none of the indices 0 to {}", axis, index,
           layout.shape()[axis] - 1);
    }
  }
}

LayoutPtr layout_for(const Layout& from, const Strategy& strategy, Checks checks, Scalar scalar) {
  if (strategy.kind() != kFreeform || from.shape().empty()) {
    return Layout::make(from.context(), from.shape(),
                        strategy.kind() == kFreeform ? Strategy(kNot) : strategy, checks, scalar);
  }
  std::optional<std::vector<Index>> bounds;
  if (!from.is_everywhere()) bounds = from.slice_bounds();
  if (!bounds)
    bounds = Layout::make(from.context(), from.shape(), kEqual, checks, scalar)->slice_bounds();
  return Layout::make_slices(from.context(), *bounds, from.shape());
}

LayoutPtr flat_layout(const Layout& from) {
  const Shape flat{from.size()};
  // With one process, every strategy holds the whole array. Slicing strategies keep their name if
  // there is an axis to cut.
  if (from.is_everywhere() && (!from.strategy().is_slicing() || from.shape().empty()))
    return Layout::make(from.context(), flat, kNot, Checks::kOff);
  std::vector<Index> bounds = from.slice_bounds().value();
  Index row = 1;
  for (std::size_t axis = 1; axis < from.shape().size(); ++axis) row *= from.shape()[axis];
  for (Index& bound : bounds) bound *= row;
  if (from.strategy().kind() == kEqual || from.strategy().kind() == kFftw) {
    LayoutPtr same = Layout::make(from.context(), flat, from.strategy(), Checks::kOff);
    if (same->slice_bounds() == bounds) return same;
  }
  return Layout::make_slices(from.context(), std::move(bounds), flat);
}

LayoutPtr changed_layout(const Layout& from, const CopyOptions& changes, Scalar scalar) {
  const Strategy strategy = changes.strategy.value_or(from.strategy());
  if (strategy.kind() == kFreeform && changes.local_shape) {
    return Layout::make_freeform(from.context(), *changes.local_shape, changes.checks, scalar);
  }
  if (!changes.global_shape) return layout_for(from, strategy, changes.checks, scalar);
  if (strategy.kind() == kFreeform) {
    const LayoutPtr equal =
        Layout::make(from.context(), *changes.global_shape, kEqual, changes.checks, scalar);
    return layout_for(*equal, kFreeform, changes.checks, scalar);
  }
  return Layout::make(from.context(), *changes.global_shape, strategy, changes.checks, scalar);
}

LayoutPtr layout_on_one(const Layout& from, int rank) {
  if (rank < 0 || rank >= from.processes()) {
    fail(ErrorKind::kArgument, "process {} is none of the {} of the communicator", rank,
         from.processes());
  }
  return Layout::make(from.context(), from.shape(), Strategy(make_on_one(from.shape(), rank)),
                      Checks::kOff);
}

}  // namespace impishim::darray
