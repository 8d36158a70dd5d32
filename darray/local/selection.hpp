// SPDX-License-Identifier: Apache-2.0
// The contents of a message: patches and lists of single elements, one after the other. Without
// MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "darray/local/patch.hpp"

namespace impishim::darray {

/// Elements of a buffer in an order: patches and word lists, one after the other. An element may
/// appear more than once. A selection copies nothing: see packer.hpp.
class Selection {
 public:
  // Offsets of single elements. They are narrow if they fit, since reading them costs as much as
  // reading the elements.
  using Words = std::variant<std::vector<std::uint32_t>, std::vector<Index>>;
  using Piece = std::variant<Patch, Words>;
  static Index size_of(const Piece& piece);

  Selection() = default;
  Selection(Patch patch) { add(std::move(patch)); }  // NOLINT: a patch is a selection

  /// Appends a patch.
  void add(Patch patch);
  /// Appends single elements by their offsets. Long regular stretches become patches.
  void add(std::span<const Index> offsets);
  /// Appends another selection.
  void add(const Selection& other);
  void add(Selection&& other);

  /// Returns the number of elements.
  [[nodiscard]] Index size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  /// Returns the offset of the first element if all are adjacent in order; 0 if there is no
  /// element.
  [[nodiscard]] std::optional<Index> contiguous() const;
  /// Returns `count` elements from number `from` on. Errors: kArgument.
  [[nodiscard]] Selection slice(Index from, Index count) const;
  /// Returns the same for a single piece.
  [[nodiscard]] static Selection part_of(const Piece& piece, Index from, Index count);
  /// Returns the offset of every element, in order.
  [[nodiscard]] std::vector<Index> offsets() const;

 private:
  void add_words(std::span<const Index> offsets);

  std::vector<Piece> pieces_;
  Index size_ = 0;
};

}  // namespace impishim::darray
