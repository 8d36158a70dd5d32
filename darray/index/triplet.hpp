// SPDX-License-Identifier: Apache-2.0
/// Indices of one axis: single indices, slices in the user's form, and resolved triplets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace impishim::darray {

/// The type of all indices, extents and counts, also of local elements.
using Index = std::int64_t;

/// The largest extent of an axis. It leaves room for one more block behind the last one.
inline constexpr Index kMaximumExtent = Index{1} << 62;

/// The `count` numbers start, start + step, ... step is not 0, and may be negative.
struct Triplet {
  Index start = 0;
  Index count = 0;
  Index step = 1;

  /// Returns the number at position k, 0 <= k < count.
  [[nodiscard]] constexpr Index at(Index k) const { return start + k * step; }
  /// Returns the last number; count must not be 0.
  [[nodiscard]] constexpr Index last() const { return at(count - 1); }
  [[nodiscard]] constexpr bool empty() const { return count == 0; }
  /// Returns the position of the number, or nothing if it is not one of them.
  [[nodiscard]] constexpr std::optional<Index> position_of(Index number) const {
    if (step > 0 ? number < start : number > start) return std::nullopt;
    // Unsigned, since the distance of two numbers may exceed the largest signed number.
    const auto from = static_cast<std::uint64_t>(start);
    const auto to = static_cast<std::uint64_t>(number);
    const std::uint64_t distance = step > 0 ? to - from : from - to;
    const std::uint64_t stride =
        step > 0 ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
    if (distance % stride != 0 || distance / stride >= static_cast<std::uint64_t>(count))
      return std::nullopt;
    return static_cast<Index>(distance / stride);
  }
  /// Returns the same numbers with a positive step.
  [[nodiscard]] constexpr Triplet ascending() const {
    if (step > 0) return *this;
    return count == 0 ? Triplet{start, 0, -step} : Triplet{last(), count, -step};
  }
  /// Returns the triplet of the numbers at these positions.
  [[nodiscard]] constexpr Triplet at(const Triplet& positions) const {
    return {at(positions.start), positions.count, step * positions.step};
  }
  bool operator==(const Triplet&) const = default;
};

/// A slice start:stop:step with NumPy's meaning and defaults.
struct Slice {
  std::optional<Index> start = {};
  std::optional<Index> stop = {};
  std::optional<Index> step = {};

  /// Returns the indices that the slice selects on an axis of that extent. Bounds beyond the axis
  /// are limited to it, negative bounds count from its end.
  /// @throws Error kKey if step is 0, kArgument if extent is negative.
  [[nodiscard]] Triplet resolve(Index extent) const;
};

/// One triplet for each axis.
using Section = std::vector<Triplet>;

/// Returns the section of all elements of an array.
[[nodiscard]] Section whole_section(std::span<const Index> shape);

/// Returns the number of elements of a section, 1 if it has no axes.
[[nodiscard]] Index section_size(const Section& section);

/// Returns an index of an axis with NumPy's meaning: negative indices count from the end, once.
/// @throws Error kKey, with the axis, if the index is outside the axis all the same.
[[nodiscard]] Index wrap_index(Index index, Index extent, int axis = 0);

/// Checks that a triplet lies in an axis.
/// @throws Error kKey with axis, number and extent, kArgument for step 0 or a negative count.
void check_triplet(const Triplet& triplet, Index extent, int axis = 0);

/// Checks that a triplet is valid.
/// @throws Error kArgument for step 0 or a negative count, kKey for numbers beyond 64 bits.
void check_label_triplet(const Triplet& triplet, int axis = 0);

/// Returns the number of elements of an array, 1 if it has no axes.
/// @throws Error kShape for a negative extent or a product beyond 2^62.
[[nodiscard]] Index element_count(std::span<const Index> shape);

}  // namespace impishim::darray
