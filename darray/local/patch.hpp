// SPDX-License-Identifier: Apache-2.0
// The elements of a buffer that an exchange moves, as extents and strides. Block schedules consist
// of them. Without MPI.
#pragma once

#include <utility>
#include <vector>

#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// One dimension of a patch: the number of elements, and their distance in elements. A stride may
/// be negative or 0.
struct Dimension {
  Index extent = 0;
  Index stride = 1;
  bool operator==(const Dimension&) const = default;
};

/// A regular set of elements of a buffer: offset + k0 * stride0 + k1 * stride1 + ..., all counted
/// in elements. Its order is row-major over the dimensions as they are listed (the last one runs
/// fastest). A patch without dimensions has one element; a patch with an extent of 0 has none.
struct Patch {
  Index offset = 0;
  std::vector<Dimension> dimensions;

  /// Returns the number of elements.
  Index size() const;
  /// Returns the same elements in the same order in the fewest dimensions: drops extents of 1, and
  /// merges neighbours that continue each other. An empty patch becomes one dimension of extent 0.
  Patch normalised() const;
  /// Returns the offset of the element with this number in the patch's order.
  Index at(Index number) const;
  /// Returns true if the elements are adjacent in the patch's order.
  bool is_contiguous() const;
  /// Returns `count` elements from number `from` on, as patches in order; these are at most 2 *
  /// dimensions - 1.
  std::vector<Patch> slice(Index from, Index count) const;
  /// Returns the smallest and the largest offset of an element; {0, -1} if there is no element.
  std::pair<Index, Index> bounds() const;
  bool operator==(const Patch&) const = default;
};

/// Returns the patch of `count` adjacent elements from `offset` on.
Patch contiguous_patch(Index offset, Index count);

/// Returns the patch that the section selects in a row-major buffer of these extents (one triplet
/// for each axis, in the buffer's indices). Errors: kArgument when the numbers of axes differ, or
/// an index lies outside.
Patch section_patch(const std::vector<Index>& extents, const Section& section);

}  // namespace impishim::darray
