// SPDX-License-Identifier: Apache-2.0
// A patch prepared for combining values with its elements. Without MPI.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "darray/local/combine.hpp"
#include "darray/local/strided_copy.hpp"

namespace impishim::darray {

/// A plan, computed once, for combining values that arrive with the elements of a patch. Elements
/// that are adjacent in long rows are combined in place. Others are gathered into a small buffer,
/// combined and put back. Elements that appear more than once are combined one after the other.
class CombinedPatch {
 public:
  /// `buffer` is the largest number of elements that are gathered at a time.
  CombinedPatch(const Patch& patch, std::size_t element_size, Index buffer);

  /// Returns the number of elements for which run() needs room.
  [[nodiscard]] Index room() const { return room_; }
  /// Combines with the adjacent values at `in`. `base` is the address of element 0.
  void run(std::byte* base, const std::byte* in, const CombineFunction& combine,
           std::byte* room) const;

 private:
  struct Run {
    const std::byte* in;
    const CombineFunction& combine;
    std::byte* room;
  };
  struct Copies {
    StridedCopy gather;
    StridedCopy scatter;
  };
  void visit(std::size_t depth, std::byte* target, Run& run) const;
  void combine_chunks(std::byte* target, Run& run) const;

  Index size_;
  Index offset_ = 0;
  std::vector<Dimension> outer_;  // dimensions of the loops
  Dimension split_{1, 0};         // the next dimension, divided into chunks
  Index step_ = 1;                // between its elements in a chunk
  Index inner_ = 1;               // elements of the patch in each of its elements
  Index room_ = 0;
  std::array<Copies, 2> copies_;  // of a whole chunk, and of the last chunk, which may be shorter
};

}  // namespace impishim::darray
