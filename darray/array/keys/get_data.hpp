// SPDX-License-Identifier: Apache-2.0
/// Reads parts of a distributed array as new arrays (D2O-32, D2O-39).
#pragma once

#include "darray/array/keys/key.hpp"

namespace impishim::darray {

namespace detail {

/// Copies the elements at these positions of a key's selection to `target`: element number k to
/// offset k, or to offsets[k]. Each process may have its own key and positions. Collective. Sends
/// nothing if every process has its elements.
void fetch(const Layout& array, const void* source, const ResolvedKey& key,
           const Positions& positions, void* target, const Element& element,
           std::span<const Index> offsets = {});

/// Does the same for a key that all processes have. Uses the plan of a section if the key is one.
void fetch_selected(const Layout& array, const void* source, const ResolvedKey& key,
                    const Layout& selected, void* target, const Element& element);

/// Copies the elements that a key selects on this process, without messages. Only for keys for
/// which stays_in_place() is true.
template <class T>
void copy_in_place(const Layout& array, const T* source, const ResolvedKey& key,
                   const Layout& selected, T* target) {
  if (selected.owned_size() == 0) return;
  if (const std::optional<OwnSection> own = own_section(array, key)) {
    const StridedView<const T> here = array.owned(source).section(own->local);
    std::vector<Index> strides;
    for (const int axis : key.sources()) strides.push_back(here.stride(axis));
    assign_view(selected.owned(target),
                StridedView<const T>(here.data(), selected.owned_shape(), strides));
    return;
  }
  const OwnPart part = owned_part(array, key, Repeats::kAll);
  for (std::size_t k = 0; k < part.offsets.size(); ++k) target[k] = source[part.offsets[k]];
}

/// Returns the shape of the selection of this process's own key. A single element is an array of
/// one element.
[[nodiscard]] inline Shape shape_of_own(const ResolvedKey& key) {
  return key.shape().empty() ? Shape{1} : key.shape();
}

/// Returns the elements of a key that select() has resolved.
template <class T>
DistArray<T> get_selected(const DistArray<T>& array, const SelectedKey& selected, Checks checks) {
  const Layout& layout = *array.layout();
  if (!selected.common) {
    const LayoutPtr there =
        selected.layout != nullptr
            ? selected.layout
            : Layout::make_freeform(layout.context(), shape_of_own(selected.key), checks);
    DistArray<T> result(there);
    fetch(layout, array.data(), selected.key, all_positions(selected.key.shape()), result.data(),
          array.element());
    return result;
  }
  if (selected.key.is_whole(array.shape())) return array.copy();
  DistArray<T> result(selected_layout(layout, selected.key));
  if (stays_in_place(layout, selected.key)) {
    copy_in_place(layout, array.data(), selected.key, *result.layout(), result.data());
  } else {
    fetch_selected(layout, array.data(), selected.key, *result.layout(), result.data(),
                   array.element());
  }
  return result;
}

}  // namespace detail

/// Returns the elements that a key selects, as a new array. Collective.
/// - A key that is the same everywhere: elements stay on their process as far as selected_layout()
///   allows. Nothing is sent for slices of arrays that are cut along axis 0, unless they run
///   backward. `not` gives `not`, slices give freeform.
/// - Distributed indices: the result is distributed like the indices (freeform). Distributed mask:
///   the result is distributed like the array.
/// - Local keys: freeform; each process gets the elements that it asked for, as its slice of axis
///   0. The selections must have the same extents except for the first. One exchange serves all
///   processes (D2O-41).
/// Throws the errors of select(), and Error(kArgument) for local keys of different extents.
template <class T>
[[nodiscard]] DistArray<T> get_data(const DistArray<T>& array, const Key& key,
                                    const KeyOptions& options = {}) {
  return detail::get_selected(array, select(*array.layout(), key, options, "get_data"),
                              options.checks);
}

/// Returns one element, on every process. Collective. Throws the errors of get_data(), and
/// Error(kShape) if the key selects an array.
template <class T>
[[nodiscard]] T get_item(const DistArray<T>& array, const Key& key, Checks checks = Checks::kOn) {
  const DistArray<T> result = get_data(array, key, {.checks = checks});
  if (!result.shape().empty())
    fail(ErrorKind::kShape, "a key that selects {} elements for a single one", result.size());
  return result.get_full().item();  // of an array without axes, not every process has the element
}

/// Returns the elements at these indices of axis 0 (NumPy's take). Negative indices count from the
/// end. Collective.
template <class T>
[[nodiscard]] DistArray<T> take(const DistArray<T>& array, IndexList indices,
                                const KeyOptions& options = {}) {
  return get_data(array, KeyPart(std::move(indices)), options);
}

}  // namespace impishim::darray
