// SPDX-License-Identifier: Apache-2.0
// Arrays on distributions that are compared with serial ones: what a rank owns of them, worked out
// one by one.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "darray/index/distribution.hpp"
#include "tests/unit/darray/flat.hpp"

namespace checks {

using impishim::darray::Distribution;
using impishim::darray::Index;
using impishim_test::flat;
using impishim_test::tuple;

/// Where an owned element lies in the local buffer, and its flat number in the array.
struct Owned {
  Index offset;
  Index number;
};
inline std::vector<Owned> owned_elements(const Distribution& layout, int rank) {
  std::vector<Owned> list;
  const std::vector<Index> owned = layout.owned_shape(rank);
  const std::vector<Index> begin = layout.owned_offset(rank);
  for (Index k = 0; k < layout.owned_size(rank); ++k) {
    std::vector<Index> local = tuple(k, owned);
    const std::vector<Index> global = layout.to_global(rank, local);
    for (std::size_t axis = 0; axis < local.size(); ++axis) local[axis] += begin[axis];
    list.push_back({flat(local, layout.local_shape(rank)), flat(global, layout.shape())});
  }
  return list;
}

/// A rank's local buffer with the values of a whole array; `ghost` everywhere else.
template <class T>
std::vector<T> piece_of(const Distribution& layout, int rank, const std::vector<T>& whole,
                        T ghost = T(77)) {
  std::vector<T> buffer(static_cast<std::size_t>(layout.local_size(rank)), ghost);
  for (const Owned& element : owned_elements(layout, rank)) {
    buffer[static_cast<std::size_t>(element.offset)] =
        whole[static_cast<std::size_t>(element.number)];
  }
  return buffer;
}

/// The values of a whole array for the owned elements, in row-major order.
template <class T>
std::vector<T> aligned(const Distribution& layout, int rank, const std::vector<T>& whole) {
  std::vector<T> list;
  for (const Owned& element : owned_elements(layout, rank))
    list.push_back(whole[static_cast<std::size_t>(element.number)]);
  return list;
}

/// A mask that can be a span.
class MaskValues {
 public:
  explicit MaskValues(const std::vector<char>& values)
      : count_(values.size()), values_(std::make_unique<bool[]>(count_)) {
    std::copy(values.begin(), values.end(), values_.get());
  }
  operator std::span<const bool>() const { return {values_.get(), count_}; }  // NOLINT: it is one

 private:
  std::size_t count_;
  std::unique_ptr<bool[]> values_;
};

}  // namespace checks
