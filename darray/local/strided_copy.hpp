// SPDX-License-Identifier: Apache-2.0
// A copy between strided sets of elements, worked out once. No MPI here.
#pragma once

#include <cstddef>
#include <vector>

#include "darray/local/patch.hpp"

namespace impishim::darray {

/// A copy between two strided sets of elements, worked out once and run many times: rows of bytes,
/// repeated over a few dimensions. Dimensions are merged and ordered for speed, and a copy that
/// changes the fastest axis goes by blocks that fit the cache.
class StridedCopy {
 public:
  StridedCopy() = default;
  /// From the elements of `source` to those of `destination`, k-th to k-th: they need equal
  /// extents, dimension by dimension. The two sets do not overlap. Errors: kShape.
  StridedCopy(const Patch& source, const Patch& destination, std::size_t element_size);

  /// `source` and `destination` are the addresses of element 0 of the two buffers.
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

  std::size_t row_ = 0;  // bytes that lie side by side on both sides; 0: nothing to do
  Index from_ = 0;
  Index to_ = 0;
  std::vector<Step> steps_;  // outermost first
  std::size_t loops_ = 0;    // steps before those that the kernel does
  Kernel kernel_ = nullptr;
};

}  // namespace impishim::darray
