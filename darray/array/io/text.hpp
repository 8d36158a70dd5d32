// SPDX-License-Identifier: Apache-2.0
/// Output of arrays as text.
#pragma once

#include <ostream>
#include <sstream>

#include "darray/array/core/dist_array.hpp"

namespace impishim::darray {

namespace detail {

/// Returns a line about an array: type, shape, strategy.
[[nodiscard]] std::string title_of(const Layout& layout, Scalar scalar);

template <class T>
void write_element(std::ostream& stream, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    stream << (value ? "true" : "false");
  } else if constexpr (sizeof(T) == 1) {
    stream << static_cast<int>(value);
  } else {
    stream << value;
  }
}

template <class T>
void write_axis(std::ostream& stream, const StridedView<const T>& view, std::size_t axis,
                const T* data) {
  if (axis == view.extents().size()) {
    write_element(stream, *data);
    return;
  }
  stream << '[';
  for (Index k = 0; k < view.extents()[axis]; ++k) {
    if (k > 0) stream << ", ";
    write_axis(stream, view, axis + 1, data + k * view.strides()[axis]);
  }
  stream << ']';
}

}  // namespace detail

/// Writes the elements in nested brackets, in the stream's number format.
template <class T>
void to_stream(std::ostream& stream, const StridedView<const T>& view) {
  detail::write_axis(stream, view, 0, view.data());
}

/// Writes the whole array on process `root`, and nothing on the others. Collective.
template <class T>
void to_stream(std::ostream& stream, const DistArray<T>& array, int root = 0) {
  if (const auto full = array.get_full(root)) to_stream(stream, full->view());
}

/// Writes a title and this process's piece. Local.
template <class T>
std::ostream& operator<<(std::ostream& stream, const DistArray<T>& array) {
  stream << detail::title_of(*array.layout(), scalar_of<T>()) << ' ';
  to_stream(stream, array.local());
  return stream;
}

}  // namespace impishim::darray
