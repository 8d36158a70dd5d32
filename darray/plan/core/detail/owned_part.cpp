// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/core/detail/owned_part.hpp"

#include <algorithm>

#include "darray/base/error.hpp"
#include "darray/local/strided_view.hpp"

namespace impishim::darray {
namespace {

// Calls visit(sum of terms[axis][index along axis]) for each element in row-major order.
template <class Visit>
void visit_sums(const std::vector<std::vector<Index>>& terms, std::size_t axis, Index sum,
                Visit& visit) {
  if (axis == terms.size()) {
    visit(sum);
  } else if (axis + 1 == terms.size()) {
    for (const Index term : terms[axis]) visit(sum + term);
  } else {
    for (const Index term : terms[axis]) visit_sums(terms, axis + 1, sum + term, visit);
  }
}

std::vector<Index> sums(const std::vector<std::vector<Index>>& terms, Index first, Index size) {
  std::vector<Index> result;
  if (size == 0) return result;
  result.reserve(static_cast<std::size_t>(size));
  auto append = [&result](Index sum) { result.push_back(sum); };
  visit_sums(terms, 0, first, append);
  return result;
}

std::vector<Index> sorted_labels(const UnstructuredMap& map) {
  std::vector<Index> labels;
  for (int part = 0; part < map.parts(); ++part)
    labels.insert(labels.end(), map.labels(part).begin(), map.labels(part).end());
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

}  // namespace

Patch OwnedPart::patch() const {
  Patch result{offset, {}};
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    result.dimensions.push_back({extents[axis], strides[axis]});
  if (size == 0) result.dimensions.push_back({0, 1});
  return result;
}

std::vector<Index> OwnedPart::offsets() const {
  std::vector<std::vector<Index>> terms;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    auto& list = terms.emplace_back();
    for (Index k = 0; k < extents[axis]; ++k) list.push_back(k * strides[axis]);
  }
  return sums(terms, offset, size);
}

OwnedPart owned_part(const Distribution& distribution, int rank) {
  OwnedPart result;
  result.extents = distribution.owned_shape(rank);
  result.strides = StridedView<std::byte>::row_major(distribution.local_shape(rank));
  result.size = distribution.owned_size(rank);
  const std::vector<Index> begin = distribution.owned_offset(rank);
  for (std::size_t axis = 0; axis < begin.size(); ++axis)
    result.offset += begin[axis] * result.strides[axis];
  return result;
}

void require_ranks(const Distribution& distribution, const Communicator& communicator) {
  const ProcessGrid& grid = distribution.grid();
  for (int place = 0; place < grid.size(); ++place) {
    if (grid.rank_at(place) >= communicator.size()) {
      fail(ErrorKind::kLayout, "a distribution names rank {}, but the communicator has {}",
           grid.rank_at(place), communicator.size());
    }
  }
}

std::vector<AxisOrder> axis_orders(const Distribution& distribution, int rank) {
  std::vector<AxisOrder> orders;
  for (int axis = 0; axis < distribution.dimensions(); ++axis) {
    const DimMap& map = distribution.axis(axis).map;
    AxisOrder& order = orders.emplace_back();
    order.extent = map.extent();
    if (map.kind() == DimMap::Kind::kUnstructured) {
      order.labels = sorted_labels(map.labels());
      order.extent = static_cast<Index>(order.labels.size());
    }
    if (!distribution.is_member(rank)) continue;
    const int part = distribution.part(rank, axis);
    const Index owned = map.owned(part);
    order.numbers.reserve(static_cast<std::size_t>(owned));
    for (Index k = 0; k < owned; ++k) {
      const Index global = map.global(part, k);
      const auto& labels = order.labels;
      order.numbers.push_back(
          labels.empty() ? global
                         : std::lower_bound(labels.begin(), labels.end(), global) - labels.begin());
    }
  }
  return orders;
}

std::vector<Index> global_numbers(const Distribution& distribution, int rank) {
  std::vector<AxisOrder> orders = axis_orders(distribution, rank);
  std::vector<std::vector<Index>> terms(orders.size());
  Index stride = 1;
  for (std::size_t axis = orders.size(); axis-- > 0;) {
    terms[axis] = std::move(orders[axis].numbers);
    for (Index& number : terms[axis]) number *= stride;
    stride *= orders[axis].extent;
  }
  return sums(terms, 0, distribution.owned_size(rank));
}

}  // namespace impishim::darray
