/// Parts of a distributed array as arrays of their own (D2O-32, D2O-39).
#pragma once

#include "darray/array/keys/key.hpp"

namespace impishim::darray {

namespace detail {

/// Brings what a key selects of an array, at these positions, to `target`: element number k to
/// offset k, or to offsets[k]. Each process may have its own key and positions. Collective; sends
/// nothing if everything is here.
void fetch(const Layout& array, const void* source, const ResolvedKey& key,
           const Positions& positions, void* target, const Element& element,
           std::span<const Index> offsets = {});

/// The same for a key that all processes have, with the plan of a section where it is one.
void fetch_selected(const Layout& array, const void* source, const ResolvedKey& key,
                    const Layout& selected, void* target, const Element& element);

/// What a key selects, where it is: for keys of which stays_in_place() says so.
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
  const OwnPart part = own_part(array, key, Repeats::kAll);
  for (std::size_t k = 0; k < part.offsets.size(); ++k) target[k] = source[part.offsets[k]];
}

/// The shape of what this process's own key selects; a single element is an array of one.
[[nodiscard]] inline Shape shape_of_own(const ResolvedKey& key) {
  return key.shape().empty() ? Shape{1} : key.shape();
}

/// What a key selects that has been looked up.
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

/// The elements that a key selects, as a new array. Collective.
/// - A key that is the same everywhere: the elements stay where they are, as far as
/// selected_layout() says. Nothing is sent for
///   slices of arrays that are cut along axis 0, unless they run backwards. `not` gives `not`,
///   slices give freeform.
/// - Distributed indices: the result lies as the indices do (freeform); a distributed mask: as the
/// array does.
/// - Local keys: freeform, each process has what it has asked for, as its slice of axis 0. What the
/// keys select must have the
///   same extents but for the first. One exchange for all processes (D2O-41).
/// @throws Error as select(); kArgument for local keys of different extents.
template <class T>
[[nodiscard]] DistArray<T> get_data(const DistArray<T>& array, const Key& key,
                                    const KeyOptions& options = {}) {
  return detail::get_selected(array, select(*array.layout(), key, options, "get_data"),
                              options.checks);
}

/// One element, on every process. Collective. @throws Error as get_data(); kShape if the key
/// selects more than one.
template <class T>
[[nodiscard]] T get_item(const DistArray<T>& array, const Key& key, Checks checks = Checks::kOn) {
  const DistArray<T> result = get_data(array, key, {.checks = checks});
  if (!result.shape().empty())
    fail(ErrorKind::kShape, "a key that selects {} elements for a single one", result.size());
  return result.get_full().item();  // of an array without axes, not every process has the element
}

/// The elements at these indices of axis 0 (NumPy's take), negative ones counted from the end.
/// Collective.
template <class T>
[[nodiscard]] DistArray<T> take(const DistArray<T>& array, IndexList indices,
                                const KeyOptions& options = {}) {
  return get_data(array, KeyPart(std::move(indices)), options);
}

}  // namespace impishim::darray
