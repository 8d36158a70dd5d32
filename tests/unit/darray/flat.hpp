// SPDX-License-Identifier: Apache-2.0
/// Row-major numbers of index tuples.
#pragma once

#include <cstddef>
#include <vector>

#include "darray/index/triplet.hpp"

namespace impishim_test {

/// The row-major number of an index tuple.
inline impishim::darray::Index flat(const std::vector<impishim::darray::Index>& indices,
                                    const std::vector<impishim::darray::Index>& shape) {
  impishim::darray::Index number = 0;
  for (std::size_t axis = 0; axis < indices.size(); ++axis)
    number = number * shape[axis] + indices[axis];
  return number;
}

/// The index tuple of a row-major number.
inline std::vector<impishim::darray::Index> tuple(
    impishim::darray::Index number, const std::vector<impishim::darray::Index>& shape) {
  std::vector<impishim::darray::Index> indices(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; number /= shape[axis])
    indices[axis] = number % shape[axis];
  return indices;
}

}  // namespace impishim_test
