// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/core/detail/patches.hpp"

#include <utility>

namespace impishim::darray {
namespace {

// Pieces with fewer elements cost less as lists of offsets (words) than as patches.
constexpr Index kSmallPiece = 8;

struct Progression {
  Index first;
  Index step;
  Index period;
};

Progression at_end(const Overlap& overlap, OverlapProduct::End end, Index stride) {
  if (end == OverlapProduct::End::kA)
    return {overlap.local_a * stride, overlap.step_a * stride, overlap.period_a * stride};
  return {overlap.local_b * stride, overlap.step_b * stride, overlap.period_b * stride};
}

/// Returns the offset that each element along an axis adds.
std::vector<Index> offsets_along(const std::vector<Overlap>& overlaps, OverlapProduct::End end,
                                 Index stride) {
  std::vector<Index> offsets;
  for (const Overlap& overlap : overlaps) {
    const auto [first, step, period] = at_end(overlap, end, stride);
    for (Index i = 0; i < overlap.repeats; ++i) {
      for (Index j = 0; j < overlap.count; ++j) offsets.push_back(first + i * period + j * step);
    }
  }
  return offsets;
}

}  // namespace

BufferShape buffer_shape(const Distribution& layout, int rank, const std::vector<Index>& strides) {
  BufferShape shape{0, strides};
  const auto dimensions = static_cast<std::size_t>(layout.dimensions());
  if (!layout.is_member(rank)) {
    shape.strides.assign(dimensions, 0);
    return shape;
  }
  if (strides.empty()) {
    shape.strides.resize(dimensions);
    const std::vector<Index> extents = layout.local_shape(rank);
    Index stride = 1;
    for (std::size_t axis = dimensions; axis-- > 0;) {
      shape.strides[axis] = stride;
      stride *= extents[axis];
    }
  }
  if (layout.has_ghosts()) {
    const std::vector<Index> first = layout.owned_offset(rank);
    for (std::size_t axis = 0; axis < dimensions; ++axis)
      shape.origin += first[axis] * shape.strides[axis];
  }
  return shape;
}

OverlapProduct::OverlapProduct(std::vector<const std::vector<Overlap>*> axes)
    : axes_(std::move(axes)) {
  Index elements = 1;
  Index pieces = 1;
  for (const auto* axis : axes_) {
    Index along = 0;
    for (const Overlap& overlap : *axis) along += overlap.elements();
    elements *= along;
    pieces *= static_cast<Index>(axis->size());
  }
  small_pieces_ = pieces > 1 && elements / pieces < kSmallPiece;
}

Selection OverlapProduct::elements(End end, Index origin, std::span<const Index> strides) const {
  return small_pieces_ ? words(end, origin, strides) : patches(end, origin, strides);
}

Selection OverlapProduct::patches(End end, Index origin, std::span<const Index> strides) const {
  std::vector<std::size_t> extents;
  extents.reserve(axes_.size());
  for (const auto* axis : axes_) extents.push_back(axis->size());
  Selection selection;
  for_all_tuples(extents, [&](const std::vector<std::size_t>& numbers) {
    Patch patch{origin, {}};
    patch.dimensions.reserve(axes_.size());
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      const Overlap& overlap = (*axes_[axis])[numbers[axis]];
      const auto [first, step, period] = at_end(overlap, end, strides[axis]);
      patch.offset += first;
      if (overlap.repeats > 1) patch.dimensions.push_back({overlap.repeats, period});
      patch.dimensions.push_back({overlap.count, step});
    }
    selection.add(std::move(patch));
  });
  return selection;
}

Selection OverlapProduct::words(End end, Index origin, std::span<const Index> strides) const {
  std::vector<std::vector<Index>> along;
  std::vector<std::size_t> extents;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    along.push_back(offsets_along(*axes_[axis], end, strides[axis]));
    extents.push_back(along.back().size());
  }
  std::vector<Index> offsets;
  for_all_tuples(extents, [&](const std::vector<std::size_t>& numbers) {
    Index offset = origin;
    for (std::size_t axis = 0; axis < along.size(); ++axis) offset += along[axis][numbers[axis]];
    offsets.push_back(offset);
  });
  Selection selection;
  selection.add(offsets);
  return selection;
}

}  // namespace impishim::darray
