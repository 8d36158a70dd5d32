// SPDX-License-Identifier: Apache-2.0
/// Sets parts of a distributed array (D2O-33, D2O-38, D2O-40).
#pragma once

#include <algorithm>

#include "darray/array/keys/broadcast_rule.hpp"
#include "darray/array/keys/get_data.hpp"
#include "darray/array/keys/key_handles.hpp"

namespace impishim::darray {

namespace detail {

/// A single value that all elements get.
template <class V>
concept ScalarValue = scalar_of<V>()
!= Scalar::kOpaque;

/// Returns the shape of all elements that a key selects; with local keys, of this process's
/// elements.
[[nodiscard]] const Shape& shape_of(const SelectedKey& selected);

/// The elements that an assignment names on this process.
struct Target {
  Positions positions;  ///< in the selection of the key
  IndexList offsets;    ///< of a common key: offsets in the buffer
};
[[nodiscard]] Target target_of(const Layout& array, const SelectedKey& selected);

/// Sends values[k] to all copies of the element at position number k of the selection of this
/// process's own key. If several processes name an element, it gets the value of the highest rank.
void store(const Layout& array, void* target, const ResolvedKey& key, const void* values,
           const Element& element);

/// Assigns dst[to] = src[from] for two sections of whole arrays, as one remap. Returns false if
/// that is not possible: for labels and flat values.
[[nodiscard]] bool assign_section(const Layout& to, void* target, const ResolvedKey& to_key,
                                  const Layout& from, const void* source,
                                  const ResolvedKey& from_key, const BroadcastRule& spread,
                                  const Element& element);

/// Returns the parts of a key of values that every process has as a whole.
[[nodiscard]] std::vector<AxisKey> parts_for_local_values(const ContextPtr& context, const Key& key,
                                                          const KeyOptions& options);

/// Returns true if all processes name the same array. Collective.
[[nodiscard]] bool same_array_everywhere(const Communicator& communicator, const ArrayId& id);

/// Returns the offsets of the elements of a local array that a key selects at these positions, from
/// its first element.
[[nodiscard]] IndexList local_offsets(const std::vector<Index>& strides, const ResolvedKey& key,
                                      const Positions& positions);

/// Returns the positions of the values that the elements use; none if there are no elements.
[[nodiscard]] inline Positions wanted_values(const BroadcastRule& spread,
                                             const Positions& elements) {
  if (count_of(elements) > 0) return spread.of_values(elements);
  return Positions(std::max<std::size_t>(spread.is_flat() ? 1 : spread.axes().size(), 1));
}

/// Writes values, each given once, to the elements of an assignment.
template <class T>
void put(DistArray<T>& array, const SelectedKey& to, const Target& target,
         const BroadcastRule& spread, const Stored<T>* values) {
  if (to.common) {
    T* data = array.data();
    for_each_spread(spread, target.positions, [&](Index element, Index value) {
      data[target.offsets[static_cast<std::size_t>(element)]] = static_cast<T>(values[value]);
    });
    return;
  }
  std::vector<Stored<T>> all(static_cast<std::size_t>(count_of(target.positions)));
  for_each_spread(spread, target.positions, [&](Index element, Index value) {
    all[static_cast<std::size_t>(element)] = values[value];
  });
  store(*array.layout(), array.data(), to.key, all.data(), array.element());
}

/// Assigns array[to] = values for sections of both, with strides only. Returns false if they are
/// not sections.
template <class T, class U>
bool set_section(DistArray<T>& array, const SelectedKey& to, const StridedView<U>& values,
                 const ResolvedKey& from, const BroadcastRule& spread) {
  if (!to.common || !from.is_section() || spread.is_flat()) return false;
  const std::optional<OwnSection> own = own_section(*array.layout(), to.key);
  if (!own) return false;
  if (section_size(own->local) == 0) return true;
  const StridedView<T> there = array.local().section(own->local);
  const StridedView<U> here = values.section(from.section());
  const std::vector<int> along = spread.value_axes();
  const std::vector<int> sources = from.sources();
  U* first = here.data();
  std::vector<Index> extents;
  std::vector<Index> to_strides;
  std::vector<Index> from_strides;
  const std::vector<int> axes = to.key.sources();
  for (std::size_t dimension = 0; dimension < axes.size(); ++dimension) {
    extents.push_back(there.extent(axes[dimension]));
    to_strides.push_back(there.stride(axes[dimension]));
    from_strides.push_back(0);
    if (along[dimension] == BroadcastRule::kRepeats) continue;
    const Index stride = here.stride(sources[static_cast<std::size_t>(along[dimension])]);
    first += own->positions[dimension].start * stride;
    from_strides.back() = own->positions[dimension].step * stride;
  }
  assign_view(StridedView<T>(there.data(), extents, to_strides),
              StridedView<U>(first, extents, from_strides));
  return true;
}

template <class T, class U>
void set_from_view(DistArray<T>& array, const StridedView<U>& values, const Key& to_key,
                   const Key& from_key, const KeyOptions& options) {
  const Layout& layout = *array.layout();
  const SelectedKey to = select(layout, to_key, options, "set_data");
  const std::vector<AxisKey> parts = parts_for_local_values(layout.context(), from_key, options);
  std::optional<ResolvedKey> from;
  std::optional<BroadcastRule> spread;
  agreed(layout.communicator(), options.checks, "set_data", [&] {
    from.emplace(parts, values.extents(), EmptyLists::kAllowed);
    spread.emplace(from->shape(), shape_of(to));
  });
  // Copies values in the array's own memory first, because the assignment uses their old contents.
  const bool apart = !memory_of(values).meets(memory_of(array.data(), layout.buffer_size()));
  if (apart && set_section(array, to, values, *from, *spread)) return;
  const Target target = target_of(layout, to);
  std::vector<Stored<T>> taken;
  for (const Index offset :
       local_offsets(values.strides(), *from, wanted_values(*spread, target.positions)))
    taken.push_back(element_cast<T>(values.data()[offset]));
  put(array, to, target, *spread, taken.data());
}

template <class T, class U>
void set_from_array(DistArray<T>& array, const DistArray<U>& values, const Key& to_key,
                    const SelectedKey& from, const KeyOptions& options) {
  const Layout& layout = *array.layout();
  const bool same_array = static_cast<const void*>(&array) == static_cast<const void*>(&values);
  const SelectedKey to = select(layout, to_key, options, "set_data");
  std::optional<BroadcastRule> spread;
  agreed(layout.communicator(), options.checks, "set_data", [&] {
    if (values.layout()->context() != layout.context())
      fail(ErrorKind::kArgument, "values of another communicator");
    spread.emplace(from.key.shape(), shape_of(to));
  });
  const bool in_one_step = std::is_same_v<T, U> && to.common && from.common && !same_array;
  // On some processes, other arrays may share the memory. This must not change the messages, so
  // only the source is copied.
  const U* source = values.data();
  LocalArray<U> apart;
  if (in_one_step && memory_of(source, values.layout()->buffer_size())
                         .meets(memory_of(array.data(), layout.buffer_size()))) {
    apart = LocalArray<U>(StridedView<const U>(source, Shape{values.layout()->buffer_size()}));
    source = apart.data();
  }
  if (in_one_step && assign_section(layout, array.data(), to.key, *values.layout(), source,
                                    from.key, *spread, array.element()))
    return;
  const Target target = target_of(layout, to);
  const Positions wanted = wanted_values(*spread, target.positions);
  if (in_one_step && (spread->is_plain() || spread->is_flat())) {
    fetch(*values.layout(), source, from.key, wanted, array.data(), array.element(),
          target.offsets);
    return;
  }
  std::vector<Stored<U>> taken(static_cast<std::size_t>(count_of(wanted)));
  fetch(*values.layout(), values.data(), from.key, wanted, taken.data(), values.element());
  std::vector<Stored<T>> cast(taken.size());
  std::ranges::transform(taken, cast.begin(),
                         [](const Stored<U>& value) { return element_cast<Stored<T>>(value); });
  put(array, to, target, *spread, cast.data());
}

}  // namespace detail

/// Assigns array[key] = value to all elements that the key selects. Collective. Local without
/// checks, if the key is the same everywhere and not distributed. Throws the errors of select().
template <class T, detail::ScalarValue V>
void set_data(DistArray<T>& array, V value, const Key& key = {}, const KeyOptions& options = {}) {
  const auto single = element_cast<T>(value);
  const SelectedKey to = select(*array.layout(), key, options, "set_data");
  const BroadcastRule spread({}, detail::shape_of(to));
  const ResolvedKey all({}, {});
  if (!detail::set_section(array, to, StridedView<const T>(&single, {}), all, spread)) {
    const Stored<T> stored = single;
    detail::put(array, to, detail::target_of(*array.layout(), to), spread, &stored);
  }
  array.set_hermitian(false);
}

/// Assigns array[to_key] = values[from_key], for values that every process has as a whole. With
/// local keys, each process has its own values. Every process reads the values that its elements
/// need. Values may be in the array's own memory. With local keys, if several processes write the
/// same element, the value of the highest rank stays (D2O-40). BroadcastRule states the rules for
/// shapes. Collective as above; local keys take one exchange. Throws the errors of select(), and
/// Error(kShape).
template <class T, class U>
void set_data(DistArray<T>& array, const StridedView<U>& values, const Key& to_key = {},
              const Key& from_key = {}, const KeyOptions& options = {}) {
  detail::set_from_view(array, values, to_key, from_key, options);
  array.set_hermitian(false);
}
template <class T, class U>
void set_data(DistArray<T>& array, const LocalArray<U>& values, const Key& to_key = {},
              const Key& from_key = {}, const KeyOptions& options = {}) {
  set_data(array, values.view(), to_key, from_key, options);
}
/// Assigns a list, as an array of one axis.
template <class T, class U>
void set_data(DistArray<T>& array, const std::vector<U>& values, const Key& to_key = {},
              const Key& from_key = {}, const KeyOptions& options = {}) {
  LocalArray<U> local({static_cast<Index>(values.size())});
  std::copy(values.begin(), values.end(), local.begin());
  set_data(array, local.view(), to_key, from_key, options);
}

/// Assigns array[to_key] = values[from_key] from a distributed array. values[from_key] is not
/// built, except for a distributed from_key. Array and values may be the same, or share memory.
/// With local keys, each process may name a different array; it then holds all elements of that
/// array during the call. Collective. Throws the errors of select(), Error(kShape) and
/// Error(kArgument).
template <class T, class U>
void set_data(DistArray<T>& array, const DistArray<U>& values, const Key& to_key = {},
              const Key& from_key = {}, const KeyOptions& options = {}) {
  const Layout& layout = *array.layout();
  if (options.local_keys) {
    agree_on(layout.communicator(), options.checks, [&] {
      return CollectiveCall("set_data with local keys")
          .with("array", layout.distribution())
          .with("values", values.element());
    });
  }
  if (options.local_keys && !detail::same_array_everywhere(layout.communicator(), values.id())) {
    const auto elements = collect_handles(
        layout.context(), std::vector<const DistArray<U>*>{&values}, options.checks);
    LocalArray<U> whole(values.shape());
    std::copy(elements.front().begin(), elements.front().end(), whole.begin());
    set_data(array, whole.view(), to_key, from_key, options);
    return;
  }
  const SelectedKey from = select(*values.layout(), from_key, options, "values of set_data");
  if (from.layout != nullptr) {
    const DistArray<U> selected = detail::get_selected(values, from, options.checks);
    detail::set_from_array(array, selected, to_key, {ResolvedKey({}, selected.shape())}, options);
  } else {
    detail::set_from_array(array, values, to_key, from, options);
  }
  array.set_hermitian(false);
}

}  // namespace impishim::darray
