/// What a process has of the elements that a key selects, and where those are that others have.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "darray/array/core/layout.hpp"
#include "darray/index/key.hpp"
#include "darray/schedule/lookup_schedule.hpp"

namespace impishim::darray {

/// For each dimension of what a key selects, some of the positions along it: their outer product,
/// in row-major order. No dimensions: one element. An empty list among them: none, also if what is
/// selected has no dimensions.
using Positions = std::vector<IndexList>;

/// All positions of an array of that shape.
[[nodiscard]] Positions all_positions(std::span<const Index> shape);
/// How many elements they are.
[[nodiscard]] Index count_of(const Positions& positions);

/// @throws Error kKey if the key names a label of an unstructured axis that nobody has: indices are
/// labels there.
void check_labels(const Distribution& distribution, const ResolvedKey& key);

/// This process's elements of what a key selects, in the order of `positions`.
struct OwnPart {
  Positions positions;
  IndexList offsets;  ///< in the local buffer, one for each element
};

/// Which element counts where a list has an index more than once.
enum class Repeats : std::uint8_t {
  kAll,
  kLast  ///< as an assignment has it: only the last one is in the part
};

/// Local, as all of these.
[[nodiscard]] OwnPart own_part(const Layout& layout, const ResolvedKey& key, Repeats repeats);

/// The same where it is a regular section, which the most frequent keys are: of slices and indices,
/// on all maps but those that deal out many pieces.
struct OwnSection {
  Section local;      ///< of the owned part, axis by axis
  Section positions;  ///< the same elements in what the key selects; one for each dimension
};
[[nodiscard]] std::optional<OwnSection> own_section(const Layout& layout, const ResolvedKey& key);

/// Where the elements at these positions are, in row-major order: the nearest copy for reading.
[[nodiscard]] std::vector<Location> locate(const Layout& layout, const ResolvedKey& key,
                                           const Positions& positions);

/// All copies of the elements, for writing: element number[k] is at place[k].
struct Copies {
  std::vector<Location> places;
  IndexList numbers;
};
/// Of elements that stand more than once only the last ones.
[[nodiscard]] Copies locate_copies(const Layout& layout, const ResolvedKey& key,
                                   const Positions& positions);

/// The layout of what a key selects of an array, so that as many elements as possible stay where
/// they are (D2O-32):
/// - each process has all of it if it has all of the array.
/// - slices of axis 0: freeform. Process r has as many rows as it has of the array. If the slice
/// runs backwards, as many as
///   process P-1-r has (D2O-37): pieces change places between mirrored processes. Elements of a
///   list move only where the list goes back to an earlier process.
/// - other layouts: blocks become blocks of other lengths (mirrored if the slice runs backwards),
/// other maps unstructured ones,
///   on the same grid. Along lists of several axes, elements are dealt out by the first of them
///   that is distributed.
/// An element alone (no axes are left) is everybody's.
[[nodiscard]] LayoutPtr selected_layout(const Layout& array, const ResolvedKey& key);

/// Nothing has to be sent to bring what a key selects into its selected_layout().
[[nodiscard]] bool stays_in_place(const Layout& array, const ResolvedKey& key);

}  // namespace impishim::darray
