// SPDX-License-Identifier: Apache-2.0
// A patch prepared for combining values with its elements. No MPI here.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "darray/local/combine.hpp"
#include "darray/local/strided_copy.hpp"

namespace impishim::darray {

/// How values that arrive are combined with the elements of a patch, worked out once. Elements that
/// lie side by side in long rows are combined where they are; others are brought together, as many
/// as a small buffer has room for, combined and put back. Elements that appear more than once are
/// combined one after the other.
class CombinedPatch {
 public:
  /// `buffer`: the most elements that are brought together.
  CombinedPatch(const Patch& patch, std::size_t element_size, Index buffer);

  /// Elements that run() needs room for.
  [[nodiscard]] Index room() const { return room_; }
  /// Combines with what lies side by side at `in`. `base` is the address of element 0.
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
  std::vector<Dimension> outer_;  // looped over
  Dimension split_{1, 0};         // then this one, by chunks
  Index step_ = 1;                // of its elements in a chunk
  Index inner_ = 1;               // elements of the patch in each of them
  Index room_ = 0;
  std::array<Copies, 2> copies_;  // of a whole chunk, and of the last one, which may be shorter
};

}  // namespace impishim::darray
