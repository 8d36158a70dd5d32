// SPDX-License-Identifier: Apache-2.0
#include "darray/array/math/reductions.hpp"

namespace impishim::darray::detail {

LayoutPtr contracted_layout(const Layout& from, const DistributionPtr& distribution) {
  const Shape& shape = distribution->shape();
  const auto own =
      std::make_shared<const Layout>(from.context(), Strategy(distribution), distribution);
  // With one process, the process has everything, even if slices remain.
  const bool sliced = from.strategy().is_slicing() && !shape.empty() &&
                      distribution->axis(0).grid_dimension != kNotDistributed;
  if (own->is_everywhere() && !sliced)
    return Layout::make(from.context(), shape, kNot, Checks::kOff);
  if (from.strategy().kind() == kEqual || from.strategy().kind() == kFftw) {
    LayoutPtr same = Layout::make(from.context(), shape, from.strategy(), Checks::kOff);
    if (same->aligned(*own)) return same;
  }
  if (from.strategy().is_slicing()) {
    if (auto bounds = own->slice_bounds())
      return Layout::make_slices(from.context(), std::move(*bounds), shape);
  }
  return Layout::make(from.context(), shape, Strategy(distribution), Checks::kOff);
}

void require_numbers(const Layout& layout) {
  if (layout.has_labels())
    fail(ErrorKind::kUnsupported, "elements with labels have no numbers in row-major order");
}

}  // namespace impishim::darray::detail
