// SPDX-License-Identifier: Apache-2.0
// Which elements of a buffer an exchange moves, as extents and strides: what block schedules are
// made of. No MPI here.
#pragma once

#include <utility>
#include <vector>

#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// One dimension of a patch: how many elements, and how far apart they are, counted in elements. A
/// stride may be negative or 0.
struct Dimension {
  Index extent = 0;
  Index stride = 1;
  bool operator==(const Dimension&) const = default;
};

/// A regular set of elements of a buffer: offset + k0 * stride0 + k1 * stride1 + ..., all counted
/// in elements. Its order is row-major over the dimensions as they are listed (the last one runs
/// fastest). No dimensions: one element. An extent of 0: no element.
struct Patch {
  Index offset = 0;
  std::vector<Dimension> dimensions;

  /// The number of elements.
  Index size() const;
  /// The same elements in the same order in the fewest dimensions: drops extents of 1, merges
  /// neighbours that continue each other. An empty patch becomes one dimension of extent 0.
  Patch normalised() const;
  /// The offset of the element with this number in the patch's order.
  Index at(Index number) const;
  /// Whether the elements lie side by side in the patch's order.
  bool is_contiguous() const;
  /// Elements from number `from` on, `count` of them, as patches in order: at most 2 * dimensions -
  /// 1 of them.
  std::vector<Patch> slice(Index from, Index count) const;
  /// Smallest and largest offset of an element: {0, -1} if there is none.
  std::pair<Index, Index> bounds() const;
  bool operator==(const Patch&) const = default;
};

/// `count` elements side by side from `offset` on.
Patch contiguous_patch(Index offset, Index count);

/// The patch of a row-major buffer of these extents which the section selects (one triplet for each
/// axis, in the buffer's indices). Errors: kArgument when their numbers differ, or an index lies
/// outside.
Patch section_patch(const std::vector<Index>& extents, const Section& section);

}  // namespace impishim::darray
