// SPDX-License-Identifier: Apache-2.0
// A copy between strided sets of elements, planned once. Without MPI.
#pragma once

#include <cstddef>
#include <vector>

#include "darray/local/patch.hpp"

namespace impishim::darray {

/// A copy between two strided sets of elements, planned once and run many times: rows of bytes,
/// repeated over a few dimensions. Dimensions are merged and ordered for speed. A copy that changes
/// the fastest axis proceeds by blocks that fit the cache.
class StridedCopy {
 public:
  StridedCopy() = default;
  /// Plans the copy of the k-th element of `source` to the k-th of `destination`. Both need equal
  /// extents, dimension by dimension. The two sets do not overlap. Errors: kShape.
  StridedCopy(const Patch& source, const Patch& destination, std::size_t element_size);

  /// Copies. `source` and `destination` are the addresses of element 0 of the two buffers.
  void run(const std::byte* source, std::byte* destination) const;

  struct Step {
    Index extent;
    Index from;  // bytes
    Index to;
  };

 private:
  void arrange();
  void run_from(std::size_t depth, const std::byte* source, std::byte* destination) const;

  using Kernel = void (*)(std::size_t row, const Step* steps, const std::byte* source,
                          std::byte* destination);

  std::size_t row_ = 0;  // adjacent bytes on both sides; 0: nothing to do
  Index from_ = 0;
  Index to_ = 0;
  std::vector<Step> steps_;  // outermost first
  std::size_t loops_ = 0;    // number of steps that the kernel does not do
  Kernel kernel_ = nullptr;
};

}  // namespace impishim::darray
