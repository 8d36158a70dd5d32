// SPDX-License-Identifier: Apache-2.0
/// The elements of an array that a key selects, by NumPy's rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// In a key: all axes that its other parts leave (NumPy's `...`), possibly none.
struct Ellipsis {};
inline constexpr Ellipsis kEllipsis{};

/// In a key: these indices of an axis, in this order. An index may appear more than once. Negative
/// indices count from the end.
using IndexList = std::vector<Index>;

/// In a key: the elements where `values` (row-major) are true. The mask covers as many axes as its
/// shape has.
struct MaskList {
  std::vector<Index> shape;
  std::vector<bool> values;
};

/// One part of a key: an index, which removes its axis; a slice; an ellipsis; a list of indices; a
/// mask.
using AxisKey = std::variant<Index, Slice, Ellipsis, IndexList, MaskList>;

/// Whether a key may contain a list without indices. NumPy allows it, d2o does not (D2O-35).
enum class EmptyLists : std::uint8_t { kRefused, kAllowed };

/// A key that has been resolved for an array. Element (p0, p1, ...) of the selection is the array's
/// element whose index along each axis is index_of(). Lists are paired (their k-th entries form one
/// tuple), along one dimension of the result.
class ResolvedKey {
 public:
  /// The dimension of an axis that a single index has removed.
  static constexpr int kNoDimension = -1;

  /// The part of one axis of the array that is selected.
  struct Choice {
    Triplet triplet;  ///< used if there is no list; one number for a removed axis
    std::shared_ptr<const IndexList> list;  ///< not negative
    int dimension = kNoDimension;           ///< of the result
  };

  /// Resolves a key as NumPy's basic and advanced indexing do. Missing axes, at the end or at the
  /// place of an ellipsis, are selected whole. A list with one entry is repeated. A mask stands for
  /// the lists of its true places. If all lists stand side by side (single indices between lists
  /// count as lists), their dimension stands in their place, otherwise it is the first one.
  /// @throws Error kKey, with the axis, for too many parts, two ellipses, an index outside its
  /// axis, lists of different lengths, an empty list if it is refused, or step 0; kShape for a mask
  /// of other extents.
  ResolvedKey(std::span<const AxisKey> key, std::span<const Index> array,
              EmptyLists empty = EmptyLists::kRefused);

  [[nodiscard]] const std::vector<Choice>& axes() const { return axes_; }
  /// Returns the extents of the selection.
  [[nodiscard]] const std::vector<Index>& shape() const { return shape_; }
  [[nodiscard]] Index size() const { return size_; }
  /// Returns true if the key has no lists.
  [[nodiscard]] bool is_section() const { return list_dimension_ == kNoDimension; }
  /// Returns true if the key selects all elements of an array of these extents, in their order.
  [[nodiscard]] bool is_whole(std::span<const Index> array) const;
  /// Returns the dimension of the result along which the lists run.
  [[nodiscard]] int list_dimension() const { return list_dimension_; }
  /// Returns one triplet for each axis of the array. For keys without lists.
  [[nodiscard]] Section section() const;
  /// Returns the axis of the array from which each dimension comes; for the lists it is the first
  /// of their axes.
  [[nodiscard]] std::vector<int> sources() const;

  /// Returns the array's index along an axis, at a position of that axis's dimension. The position
  /// does not matter if the axis has no dimension.
  [[nodiscard]] Index index_of(int axis, Index position) const {
    const Choice& choice = axes_[static_cast<std::size_t>(axis)];
    if (choice.list != nullptr) return (*choice.list)[static_cast<std::size_t>(position)];
    return choice.dimension == kNoDimension ? choice.triplet.start : choice.triplet.at(position);
  }

  /// Returns a hash that is the same for keys that select the same elements, on all machines.
  [[nodiscard]] std::uint64_t hash() const;

 private:
  // Gives all lists the same length, and returns it.
  std::optional<Index> run_lists_together();
  void number_dimensions(std::optional<Index> list_length, std::span<const std::size_t> parts);

  std::vector<Choice> axes_;
  std::vector<Index> shape_;
  Index size_ = 1;
  int list_dimension_ = kNoDimension;
};

}  // namespace impishim::darray
