// How a rank's owned elements lie in its local buffer, and which place they have among all. Not for
// users.
#pragma once

#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/local/patch.hpp"
#include "darray/schedule/communicator.hpp"

namespace impishim::darray {

/// The owned part of a local buffer that is row-major with ghosts.
struct OwnedPart {
  Index offset = 0;
  std::vector<Index> extents;
  std::vector<Index> strides;
  Index size = 0;  // 0 for ranks outside of the grid, also if the array has no axes

  [[nodiscard]] Patch patch() const;
  /// The offset of every element, in row-major order.
  [[nodiscard]] std::vector<Index> offsets() const;
};

OwnedPart owned_part(const Distribution& distribution, int rank);

/// Errors: kLayout when the distribution names a rank that the communicator does not have.
void require_ranks(const Distribution& distribution, const Communicator& communicator);

/// The global index of each of a rank's local indices along an axis; of an unstructured axis its
/// label's number among all labels in ascending order, `labels` (which is empty for other maps).
struct AxisOrder {
  Index extent = 0;  // numbers go up to this
  std::vector<Index> numbers;
  std::vector<Index> labels;

  /// The global index or label of a number.
  [[nodiscard]] Index global(Index number) const {
    return labels.empty() ? number : labels[static_cast<std::size_t>(number)];
  }
};

/// One for each axis. Empty numbers for ranks outside of the grid.
std::vector<AxisOrder> axis_orders(const Distribution& distribution, int rank);

/// The place of every owned element in the row-major order of all elements of the array, in the
/// rank's row-major order.
std::vector<Index> global_numbers(const Distribution& distribution, int rank);

}  // namespace impishim::darray
