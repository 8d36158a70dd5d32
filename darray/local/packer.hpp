// SPDX-License-Identifier: Apache-2.0
// A selection prepared for copying its elements many times. Without MPI.
#pragma once

#include <cstddef>
#include <vector>

#include "darray/local/combine.hpp"
#include "darray/local/combined_patch.hpp"
#include "darray/local/selection.hpp"
#include "darray/local/strided_copy.hpp"

namespace impishim::darray {

/// Packs and unpacks one selection of elements of one size. Everything that can be computed once is
/// computed once.
class Packer {
 public:
  Packer() = default;
  /// `combining` tells that unpack_combine() will be called; otherwise that function prepares
  /// itself each time.
  Packer(Selection selection, std::size_t element_size, bool combining = false);

  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(selection_.size()) * element_size_;
  }
  [[nodiscard]] const Selection& selection() const { return selection_; }

  /// Copies the elements, in order, to `out` (bytes() bytes). `base` is the address of element 0.
  void pack(const std::byte* base, std::byte* out) const;
  /// Copies `in` to the elements: the reverse of pack.
  void unpack(std::byte* base, const std::byte* in) const;
  /// Replaces every element by combine(value in place, value that arrives), in the selection's
  /// order. An element that appears twice is combined twice.
  void unpack_combine(std::byte* base, const std::byte* in, const CombineFunction& combine) const;

 private:
  // For each piece that is a patch.
  struct Block {
    StridedCopy pack;
    StridedCopy unpack;
  };
  Selection selection_;
  std::size_t element_size_ = 1;
  std::vector<Block> blocks_;
  std::vector<CombinedPatch> combined_;  // for the same pieces, if `combining`
};

/// A prepared copy between two selections of one rank. The elements do not overlap.
class LocalCopy {
 public:
  /// `combining` tells that run() will be given an operator. Errors: kShape when the sizes differ.
  LocalCopy(const Selection& source, const Selection& destination, std::size_t element_size,
            bool combining);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Combines if constructed for that, otherwise replaces. `source` and `destination` are the
  /// addresses of the two elements 0.
  void run(const std::byte* source, std::byte* destination, const CombineFunction& combine) const;

 private:
  struct Staged {
    Packer source;
    Packer destination;
  };
  std::size_t bytes_ = 0;
  std::size_t buffer_ = 0;
  std::vector<StridedCopy> direct_;  // from patch to patch
  std::vector<Staged> staged_;       // all others, through a small buffer
};

}  // namespace impishim::darray
