// SPDX-License-Identifier: Apache-2.0
/// Converts the overlaps of two parts along each axis to elements of a buffer. Not for users.
#pragma once

#include <span>
#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/index/intersect.hpp"
#include "darray/local/selection.hpp"

namespace impishim::darray {

/// The position of a rank's owned part in its local buffer.
struct BufferShape {
  Index origin = 0;            // offset of the owned element 0, 0, ...
  std::vector<Index> strides;  // for each axis
};

/// Returns the shape of the rank's local buffer. `strides` are the user's; empty means row-major.
/// All values are zero for a rank that has no part.
[[nodiscard]] BufferShape buffer_shape(const Distribution& layout, int rank,
                                       const std::vector<Index>& strides);

/// The elements in the Cartesian product of overlaps: each axis has a list of overlaps and the
/// stride of the buffer. The order of the elements is the same at both ends, because it depends
/// only on the counts of the overlaps.
class OverlapProduct {
 public:
  enum class End { kA, kB };
  /// `axes[k]` lists the overlaps along axis k; none of the overlaps is empty.
  explicit OverlapProduct(std::vector<const std::vector<Overlap>*> axes);
  [[nodiscard]] Selection elements(End end, Index origin, std::span<const Index> strides) const;

 private:
  [[nodiscard]] Selection patches(End end, Index origin, std::span<const Index> strides) const;
  [[nodiscard]] Selection words(End end, Index origin, std::span<const Index> strides) const;

  std::vector<const std::vector<Overlap>*> axes_;
  bool small_pieces_ = false;
};

/// Calls use(numbers) for all tuples of numbers below these extents, in row-major order. Calls it
/// once if there are no extents.
template <class Use>
void for_all_tuples(std::span<const std::size_t> extents, const Use& use) {
  for (const std::size_t extent : extents) {
    if (extent == 0) return;
  }
  std::vector<std::size_t> numbers(extents.size(), 0);
  for (;;) {
    use(std::as_const(numbers));
    std::size_t axis = extents.size();
    while (axis > 0 && ++numbers[axis - 1] == extents[axis - 1]) numbers[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace impishim::darray
