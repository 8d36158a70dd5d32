// SPDX-License-Identifier: Apache-2.0
/// Which elements of an array a key means, by NumPy's rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// In a key: all axes that its other parts leave over (NumPy's `...`), possibly none.
struct Ellipsis {};
inline constexpr Ellipsis kEllipsis{};

/// In a key: these indices of an axis, in this order; some may stand more than once. Negative ones
/// count from the end.
using IndexList = std::vector<Index>;

/// In a key: the elements where `values` (row-major) are true, of as many axes as the shape has.
struct MaskList {
  std::vector<Index> shape;
  std::vector<bool> values;
};

/// One part of a key: an index, which takes its axis away; a slice; the axes in between; indices; a
/// mask.
using AxisKey = std::variant<Index, Slice, Ellipsis, IndexList, MaskList>;

/// Whether a key may have a list without indices: NumPy lets it, d2o does not (D2O-35).
enum class EmptyLists : std::uint8_t { kRefused, kAllowed };

/// A key that fits an array. Element (p0, p1, ...) of what it selects is the array's element with,
/// along each axis, the index that index_of() says. Lists run together (their k-th entries are one
/// tuple) along one dimension of the result.
class ResolvedKey {
 public:
  /// Of an axis that has gone: a single index was given.
  static constexpr int kNoDimension = -1;

  /// What is taken of one axis of the array.
  struct Choice {
    Triplet triplet;  ///< without a list; of an axis that has gone, one number
    std::shared_ptr<const IndexList> list;  ///< not negative
    int dimension = kNoDimension;           ///< of the result
  };

  /// NumPy's basic and advanced indexing: missing axes at the end (or in the place of an ellipsis)
  /// are whole; lists are repeated if they have one entry; a mask means the lists of its true
  /// places; the dimension of the lists stands where they stand if they stand side by side (single
  /// indices between lists count as lists), else it is the first one.
  /// @throws Error kKey, with the axis: too many parts, two ellipses, an index outside of its axis,
  /// lists of different lengths, an empty list if it is refused, step 0; kShape for a mask of other
  /// extents.
  ResolvedKey(std::span<const AxisKey> key, std::span<const Index> array,
              EmptyLists empty = EmptyLists::kRefused);

  [[nodiscard]] const std::vector<Choice>& axes() const { return axes_; }
  /// Of what is selected.
  [[nodiscard]] const std::vector<Index>& shape() const { return shape_; }
  [[nodiscard]] Index size() const { return size_; }
  /// No lists.
  [[nodiscard]] bool is_section() const { return list_dimension_ == kNoDimension; }
  /// All elements of an array of these extents, in their order.
  [[nodiscard]] bool is_whole(std::span<const Index> array) const;
  /// The dimension of the result that the lists run along.
  [[nodiscard]] int list_dimension() const { return list_dimension_; }
  /// One triplet for each axis of the array. For keys without lists.
  [[nodiscard]] Section section() const;
  /// The axis of the array that each dimension comes from; of the lists, the first one.
  [[nodiscard]] std::vector<int> sources() const;

  /// The array's index along an axis at a position of that axis's dimension (any, if it has none).
  [[nodiscard]] Index index_of(int axis, Index position) const {
    const Choice& choice = axes_[static_cast<std::size_t>(axis)];
    if (choice.list != nullptr) return (*choice.list)[static_cast<std::size_t>(position)];
    return choice.dimension == kNoDimension ? choice.triplet.start : choice.triplet.at(position);
  }

  /// The same for keys that select the same, and on all machines.
  [[nodiscard]] std::uint64_t hash() const;

 private:
  // Gives all lists the same length, which is returned.
  std::optional<Index> run_lists_together();
  void number_dimensions(std::optional<Index> list_length, std::span<const std::size_t> parts);

  std::vector<Choice> axes_;
  std::vector<Index> shape_;
  Index size_ = 1;
  int list_dimension_ = kNoDimension;
};

}  // namespace impishim::darray
