// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/remap/transpose.hpp"

#include <algorithm>
#include <numeric>

namespace impishim::darray {

RemapPlan transpose_plan(const Communicator& communicator, const RemapSide& destination,
                         const RemapSide& source, const Element& element, std::vector<int> axes,
                         RemapOptions options) {
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(source.layout.dimensions()));
    std::iota(axes.rbegin(), axes.rend(), 0);
  }
  options.permutation = std::move(axes);
  return {communicator, destination, source, element, options};
}

void transpose(const Communicator& communicator, const RemapSide& destination,
               void* destination_data, const RemapSide& source, const void* source_data,
               const Element& element, std::vector<int> axes, RemapOptions options) {
  options.backward = false;
  transpose_plan(communicator, destination, source, element, std::move(axes), options)
      .execute(source_data, destination_data);
}

}  // namespace impishim::darray
