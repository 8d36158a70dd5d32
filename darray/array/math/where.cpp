// SPDX-License-Identifier: Apache-2.0
#include "darray/array/math/where.hpp"

namespace impishim::darray::detail {

LayoutPtr layout_of_rows(const Layout& array) {
  if (array.shape().empty()) fail(ErrorKind::kShape, "where() of an array without axes");
  const ContextPtr& context = array.context();
  if (array.is_everywhere()) return Layout::make(context, array.shape(), kNot, Checks::kOff);
  if (const std::optional<std::vector<Index>> bounds = array.slice_bounds())
    return Layout::make_slices(context, *bounds, array.shape());
  return Layout::make(context, array.shape(), kEqual, Checks::kOff);
}

std::vector<DistArray<Index>> arrays_of_indices(const Layout& rows,
                                                const std::vector<IndexList>& lists) {
  const Shape own{static_cast<Index>(lists.front().size())};
  const LayoutPtr layout = rows.is_everywhere()
                               ? Layout::make(rows.context(), own, kNot, Checks::kOff)
                               : Layout::make_freeform(rows.context(), own, Checks::kOff);
  std::vector<DistArray<Index>> arrays;
  for (const IndexList& list : lists) {
    DistArray<Index> array(layout);
    std::copy(list.begin(), list.end(), array.data());
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace impishim::darray::detail
