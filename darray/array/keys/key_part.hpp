// SPDX-License-Identifier: Apache-2.0
/// The elements of a key's selection that a process owns, and the locations of the others.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "darray/array/core/layout.hpp"
#include "darray/index/key.hpp"
#include "darray/schedule/lookup_schedule.hpp"

namespace impishim::darray {

/// For each dimension of a selection, some of the positions along it. They select their outer
/// product, in row-major order. Without dimensions, they select one element. An empty list selects
/// no elements, even if the selection has no dimensions.
using Positions = std::vector<IndexList>;

/// Returns all positions of an array of this shape.
[[nodiscard]] Positions all_positions(std::span<const Index> shape);
/// Returns the number of elements at these positions.
[[nodiscard]] Index count_of(const Positions& positions);

/// Throws Error(kKey) if the key names a label of an unstructured axis that no part has. On such an
/// axis, indices are labels.
void check_labels(const Distribution& distribution, const ResolvedKey& key);

/// This process's elements of a selection, in the order of `positions`.
struct OwnPart {
  Positions positions;
  IndexList offsets;  ///< in the local buffer, one for each element
};

/// Selects the element that counts if a list has an index several times.
enum class Repeats : std::uint8_t {
  kAll,
  kLast  ///< only the last one is in the part, as in an assignment
};

/// Returns this process's part. Local, like all functions here.
[[nodiscard]] OwnPart owned_part(const Layout& layout, const ResolvedKey& key, Repeats repeats);

/// This process's part as a regular section. Most keys have this form: slices and indices, on all
/// maps except those with many pieces for each part.
struct OwnSection {
  Section local;      ///< of the owned part, for each axis
  Section positions;  ///< the same elements in the selection, for each dimension
};
[[nodiscard]] std::optional<OwnSection> own_section(const Layout& layout, const ResolvedKey& key);

/// Returns the locations of the elements at these positions, in row-major order: the nearest
/// copies, for reading.
[[nodiscard]] std::vector<Location> locate(const Layout& layout, const ResolvedKey& key,
                                           const Positions& positions);

/// All copies of the elements, for writing: element numbers[k] is at places[k].
struct Copies {
  std::vector<Location> places;
  IndexList numbers;
};
/// Returns the copies of the elements at these positions. If an element occurs several times, only
/// its last occurrence counts.
[[nodiscard]] Copies locate_copies(const Layout& layout, const ResolvedKey& key,
                                   const Positions& positions);

/// Returns the layout of a key's selection, in which as many elements as possible stay on their
/// process (D2O-32):
/// - A process that has the whole array has the whole selection.
/// - Slices of axis 0: freeform. Process r has as many selected rows as it has of the array. If the
///   slice runs backward, it has as many as process P-1-r has (D2O-37): mirrored processes exchange
///   their pieces. Elements of a list move only where the list goes back to an earlier process.
/// - Other layouts, on the same grid: blocks become blocks of other lengths (mirrored if the slice
///   runs backward), other maps become unstructured ones. Along lists of several axes, the first
///   distributed axis determines the distribution.
/// A single element (no axes are left) is on every process.
[[nodiscard]] LayoutPtr selected_layout(const Layout& array, const ResolvedKey& key);

/// Returns true if copying a selection to its selected_layout() sends nothing.
[[nodiscard]] bool stays_in_place(const Layout& array, const ResolvedKey& key);

}  // namespace impishim::darray
