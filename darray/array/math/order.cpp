// SPDX-License-Identifier: Apache-2.0
#include "darray/array/math/order.hpp"

namespace impishim::darray::detail {
namespace {

// Returns the distribution of a contraction over these axes: the other axes do not change, on the
// same grid.
DistributionPtr without(const Distribution& from, const std::vector<int>& axes) {
  std::vector<Axis> kept;
  for (int axis = 0; axis < from.dimensions(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    kept.push_back({from.axis(axis).map, from.axis(axis).grid_dimension});
  }
  return Distribution::make(from.grid(), std::move(kept));
}

}  // namespace

MedianLayouts median_layouts(const Layout& from, std::vector<int> axes) {
  const int dimensions = from.distribution().dimensions();
  std::sort(axes.begin(), axes.end());
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] < 0 || axes[k] >= dimensions || (k > 0 && axes[k] == axes[k - 1])) {
      fail(ErrorKind::kArgument, "axis {} is not there, or named twice", axes[k]);
    }
  }
  MedianLayouts layouts;
  int longest = -1;
  for (int axis = 0; axis < dimensions; ++axis) {
    if (std::binary_search(axes.begin(), axes.end(), axis)) continue;
    layouts.order.push_back(axis);
    const Shape& shape = from.shape();
    if (longest < 0 ||
        shape[static_cast<std::size_t>(axis)] > shape[static_cast<std::size_t>(longest)])
      longest = axis;
  }
  for (const int axis : axes) {
    layouts.order.push_back(axis);
    layouts.group *= from.shape()[static_cast<std::size_t>(axis)];
  }
  // Cuts the longest axis that stays. If no axis stays, every process has all elements.
  Strategy whole = kNot;
  if (longest >= 0)
    whole = make_distribution(from.shape(), from.processes(), {.kinds_by_axis = {{longest, 'e'}}});
  layouts.whole = Layout::make(from.context(), from.shape(), whole, Checks::kOff);
  layouts.part = contracted_layout(*layouts.whole, without(layouts.whole->distribution(), axes));
  layouts.result = contracted_layout(from, without(from.distribution(), axes));
  return layouts;
}

}  // namespace impishim::darray::detail
