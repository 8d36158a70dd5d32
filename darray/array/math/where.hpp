// SPDX-License-Identifier: Apache-2.0
/// Finds the elements of an array that are true (D2O-79).
#pragma once

#include "darray/array/keys/key.hpp"

namespace impishim::darray {

namespace detail {

/// Returns the layout in which where() searches: the array's own if it is slices of axis 0 or
/// everywhere, else slices of `equal`.
[[nodiscard]] LayoutPtr layout_of_rows(const Layout& array);
/// Returns arrays of the indices that each process has found, one list for each axis: freeform, or
/// `not` if they are everywhere.
[[nodiscard]] std::vector<DistArray<Index>> arrays_of_indices(const Layout& rows,
                                                              const std::vector<IndexList>& lists);

}  // namespace detail

/// Returns the global indices of all elements that are not 0 (or false), in row-major order: one
/// array for each axis. The arrays are freeform and distributed like the elements. For a layout
/// that is not slices of axis 0, they are distributed like the slices of `equal`. For an array that
/// is everywhere, they are `not`. Together, they are a key. Collective. Throws Error(kShape) for an
/// array without axes.
template <class T>
[[nodiscard]] std::vector<DistArray<Index>> where(const DistArray<T>& array) {
  LayoutPtr rows;
  const auto call = [&] { return CollectiveCall("where").with("array", array.distribution()); };
  agreed(array.communicator(), Checks::kOn, call,
         [&] { rows = detail::layout_of_rows(*array.layout()); });
  DistArray<T> moved;
  const bool stays = rows->aligned(*array.layout());
  if (!stays) {
    moved = DistArray<T>(rows);
    moved.set_full(array, Checks::kOff);
  }
  const std::vector<std::vector<Index>> indices = rows->global_indices();
  std::vector<IndexList> lists(indices.size());
  std::vector<Index> place(indices.size(), 0);
  (stays ? array : std::as_const(moved)).local().for_each([&](const T& value) {
    if (value != T(0)) {
      for (std::size_t axis = 0; axis < place.size(); ++axis)
        lists[axis].push_back(indices[axis][static_cast<std::size_t>(place[axis])]);
    }
    for (std::size_t axis = place.size(); axis-- > 0;) {
      if (++place[axis] < static_cast<Index>(indices[axis].size())) break;
      place[axis] = 0;
    }
  });
  return detail::arrays_of_indices(*rows, lists);
}

}  // namespace impishim::darray
