// SPDX-License-Identifier: Apache-2.0
/// The position of a rank's owned elements in its local buffer, and their number among all elements
/// of the array. Not for users.
#pragma once

#include <vector>

#include "darray/communicator/communicator.hpp"
#include "darray/index/distribution.hpp"
#include "darray/local/patch.hpp"

namespace impishim::darray {

/// The owned part of a local buffer that is stored row-major with ghosts.
struct OwnedPart {
  Index offset = 0;
  std::vector<Index> extents;
  std::vector<Index> strides;
  Index size = 0;  // 0 for ranks outside of the grid, even if the array has no axes

  [[nodiscard]] Patch patch() const;
  /// Returns the offset of every owned element, in row-major order.
  [[nodiscard]] std::vector<Index> offsets() const;
};

OwnedPart owned_part(const Distribution& distribution, int rank);

/// Throws Error(kLayout) if the distribution names a rank that the communicator does not have.
void require_ranks(const Distribution& distribution, const Communicator& communicator);

/// The global index of each of a rank's local indices along an axis. For an unstructured axis, the
/// number of its label: `labels` lists all labels in ascending order, and is empty for other maps.
struct AxisOrder {
  Index extent = 0;  // numbers are below this
  std::vector<Index> numbers;
  std::vector<Index> labels;

  /// Returns the global index or label that belongs to a number.
  [[nodiscard]] Index global(Index number) const {
    return labels.empty() ? number : labels[static_cast<std::size_t>(number)];
  }
};

/// Returns one AxisOrder for each axis. `numbers` is empty for ranks outside of the grid.
std::vector<AxisOrder> axis_orders(const Distribution& distribution, int rank);

/// Returns the number of every owned element in the row-major order of the whole array. The result
/// is in the row-major order of the rank's part.
std::vector<Index> global_numbers(const Distribution& distribution, int rank);

}  // namespace impishim::darray
