// SPDX-License-Identifier: Apache-2.0
/// Loops over this process's elements. The fast axis is innermost; contiguous elements take one
/// single loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "darray/array/core/element_cast.hpp"
#include "darray/array/core/layout.hpp"

namespace impishim::darray {

/// Calls visit(offset, count, position) for every contiguous run of the owned elements. `offset` is
/// the place of its first element in the buffer, `position` its place in row-major order.
template <class Visit>
void for_each_row(const Layout& layout, Visit visit) {
  if (layout.owned_size() == 0) return;
  if (layout.is_contiguous()) {
    visit(layout.offset(), layout.owned_size(), Index{0});
    return;
  }
  const Index length = layout.owned_shape().back();
  Index position = 0;
  for (const Index offset : layout.row_offsets()) {
    visit(offset, length, position);
    position += length;
  }
}

/// The memory from the first byte of an object to the end of its last byte.
struct MemoryRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;

  [[nodiscard]] bool meets(const MemoryRange& other) const {
    const std::less<const std::byte*> before;
    return before(begin, other.end) && before(other.begin, end);
  }
};
/// Returns the memory of `count` elements.
template <class T>
MemoryRange memory_of(const T* data, Index count) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  return {begin, begin + static_cast<std::size_t>(count) * sizeof(T)};
}
/// Returns the memory of a view's elements, including the gaps between them.
template <class T>
MemoryRange memory_of(const StridedView<T>& view) {
  if (view.empty()) return {};
  Index lowest = 0;
  Index highest = 0;
  for (int axis = 0; axis < view.rank(); ++axis) {
    const Index last = (view.extent(axis) - 1) * view.stride(axis);
    (last < 0 ? lowest : highest) += last;
  }
  return memory_of(view.data() + lowest, highest - lowest + 1);
}

/// Sets to[k] = from[k], cast, for `count` elements.
template <class T, class U>
void cast_row(T* to, Index to_step, const U* from, Index from_step, Index count) {
  if (to_step == 1 && from_step == 1) {
    if constexpr (std::is_same_v<T, std::remove_const_t<U>>) {
      if (count > 0)
        std::memmove(static_cast<void*>(to), from, static_cast<std::size_t>(count) * sizeof(T));
    } else {
      for (Index k = 0; k < count; ++k) to[k] = element_cast<T>(from[k]);
    }
    return;
  }
  for (Index k = 0; k < count; ++k) to[k * to_step] = element_cast<T>(from[k * from_step]);
}

/// Copies the elements of one view to another of the same extents, and casts them. The views must
/// not overlap. Throws Error(kShape) if the extents differ.
template <class T, class U>
void assign_view(const StridedView<T>& to, const StridedView<U>& from) {
  if (to.extents() != from.extents()) {
    fail(ErrorKind::kShape, "{} elements in {} axes do not fit {} in {}", from.size(), from.rank(),
         to.size(), to.rank());
  }
  if (to.empty()) return;
  if (to.is_contiguous() && from.is_contiguous()) {
    cast_row(to.data(), 1, from.data(), 1, to.size());
    return;
  }
  const int last = to.rank() - 1;
  const auto walk = [&](const auto& self, int axis, T* target, const U* source) -> void {
    if (axis == last) {
      cast_row(target, to.stride(axis), source, from.stride(axis), to.extent(axis));
      return;
    }
    for (Index k = 0; k < to.extent(axis); ++k)
      self(self, axis + 1, target + k * to.stride(axis), source + k * from.stride(axis));
  };
  walk(walk, 0, to.data(), from.data());
}

/// Returns the section of the global array that this process owns, if its elements are consecutive
/// along every axis.
[[nodiscard]] std::optional<Section> owned_section(const Layout& layout);

/// Throws Error(kShape) unless the extents are the layout's global ones.
void check_global_shape(const Layout& layout, std::span<const Index> extents);

/// Throws Error(kKey) if a label is not an index of its axis. `indices` are the layout's
/// global_indices().
void check_labels_are_indices(const Layout& layout, const std::vector<std::vector<Index>>& indices);

/// Copies this process's part of global data to the buffer. Throws Error(kShape) if the shapes
/// differ, and Error(kKey) if the data do not have a label.
template <class T, class U>
void cut_own_part(const Layout& layout, T* buffer, const StridedView<U>& global) {
  check_global_shape(layout, global.extents());
  if (layout.owned_size() == 0) return;
  const StridedView<T> own = layout.owned(buffer);
  if (const std::optional<Section> section = owned_section(layout)) {
    assign_view(own, global.section(*section));
    return;
  }
  const std::vector<std::vector<Index>> indices = layout.global_indices();
  check_labels_are_indices(layout, indices);
  const auto walk = [&](const auto& self, std::size_t axis, T* target, const U* source) -> void {
    if (axis == indices.size()) {
      *target = element_cast<T>(*source);
      return;
    }
    for (std::size_t k = 0; k < indices[axis].size(); ++k) {
      self(self, axis + 1, target + static_cast<Index>(k) * own.stride(static_cast<int>(axis)),
           source + indices[axis][k] * global.stride(static_cast<int>(axis)));
    }
  };
  walk(walk, 0, own.data(), global.data());
}

/// Sets buffer[element] = function(global indices) for each owned element.
template <class T, class Function>
void fill_by_index(const Layout& layout, T* buffer, Function function) {
  if (layout.owned_size() == 0) return;
  const std::vector<std::vector<Index>> indices = layout.global_indices();
  const StridedView<T> own = layout.owned(buffer);
  std::vector<Index> global(indices.size());
  const auto walk = [&](const auto& self, std::size_t axis, T* target) -> void {
    if (axis == indices.size()) {
      *target = element_cast<T>(function(std::span<const Index>(global)));
      return;
    }
    for (std::size_t k = 0; k < indices[axis].size(); ++k) {
      global[axis] = indices[axis][k];
      self(self, axis + 1, target + static_cast<Index>(k) * own.stride(static_cast<int>(axis)));
    }
  };
  walk(walk, 0, own.data());
}

}  // namespace impishim::darray
