// SPDX-License-Identifier: Apache-2.0
#include "darray/local/patch.hpp"

#include <algorithm>
#include <span>

#include "darray/base/error.hpp"

namespace impishim::darray {
namespace {

Index product(std::span<const Dimension> dimensions) {
  Index size = 1;
  for (const Dimension& dimension : dimensions) size *= dimension.extent;
  return size;
}

// Returns the part of a slice in these dimensions: the rest of a row that has begun, whole rows,
// and the beginning of one more row.
void slice_from(std::span<const Dimension> dimensions, Index offset, Index from, Index count,
                std::vector<Patch>& slices) {
  if (count == 0) return;
  if (dimensions.empty()) {
    slices.push_back({offset, {}});
    return;
  }
  const auto inner = dimensions.subspan(1);
  const Index row = product(inner);
  const Index stride = dimensions[0].stride;
  Index position = from / row;
  if (from % row != 0) {
    const Index rest = std::min(count, row - from % row);
    slice_from(inner, offset + position * stride, from % row, rest, slices);
    ++position;
    count -= rest;
  }
  if (const Index whole = count / row; whole > 0) {
    Patch rows{offset + position * stride, {{whole, stride}}};
    rows.dimensions.insert(rows.dimensions.end(), inner.begin(), inner.end());
    slices.push_back(std::move(rows));
    position += whole;
    count -= whole * row;
  }
  slice_from(inner, offset + position * stride, 0, count, slices);
}

}  // namespace

Index Patch::size() const { return product(dimensions); }

Patch Patch::normalised() const {
  Patch result{offset, {}};
  for (const Dimension& dimension : dimensions) {
    if (dimension.extent == 0) return {offset, {{0, 1}}};
    if (dimension.extent == 1) continue;
    if (!result.dimensions.empty() &&
        result.dimensions.back().stride == dimension.extent * dimension.stride) {
      result.dimensions.back() = {result.dimensions.back().extent * dimension.extent,
                                  dimension.stride};
    } else {
      result.dimensions.push_back(dimension);
    }
  }
  return result;
}

Index Patch::at(Index number) const {
  Index result = offset;
  for (std::size_t d = dimensions.size(); d-- > 0;) {
    result += number % dimensions[d].extent * dimensions[d].stride;
    number /= dimensions[d].extent;
  }
  return result;
}

bool Patch::is_contiguous() const {
  const Patch simple = normalised();
  return simple.dimensions.empty() || simple.size() == 0 ||
         (simple.dimensions.size() == 1 && simple.dimensions[0].stride == 1);
}

std::vector<Patch> Patch::slice(Index from, Index count) const {
  if (from < 0 || count < 0 || from + count > size()) {
    fail(ErrorKind::kArgument, "elements {} to {} of a patch of {}", from, from + count, size());
  }
  std::vector<Patch> slices;
  slice_from(dimensions, offset, from, count, slices);
  return slices;
}

std::pair<Index, Index> Patch::bounds() const {
  if (size() == 0) return {0, -1};
  Index low = offset;
  Index high = offset;
  for (const Dimension& dimension : dimensions) {
    const Index last = (dimension.extent - 1) * dimension.stride;
    (last < 0 ? low : high) += last;
  }
  return {low, high};
}

Patch contiguous_patch(Index offset, Index count) { return {offset, {{count, 1}}}; }

Patch section_patch(const std::vector<Index>& extents, const Section& section) {
  if (extents.size() != section.size()) {
    fail(ErrorKind::kArgument, "a section of {} axes for a buffer of {}", section.size(),
         extents.size());
  }
  Patch patch;
  patch.dimensions.resize(extents.size());
  Index stride = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    const Triplet& wanted = section[axis];
    if (wanted.count > 0) {
      for (const Index index : {wanted.start, wanted.last()}) {
        if (index < 0 || index >= extents[axis]) {
          fail(ErrorKind::kArgument, "axis {}: index {} is outside of extent {}", axis, index,
               extents[axis]);
        }
      }
      patch.offset += wanted.start * stride;
    }
    patch.dimensions[axis] = {wanted.count, wanted.step * stride};
    stride *= extents[axis];
  }
  return patch;
}

}  // namespace impishim::darray
