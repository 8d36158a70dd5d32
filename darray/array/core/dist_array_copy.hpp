// SPDX-License-Identifier: Apache-2.0
/// Bodies of dist_array.hpp: functions that read, write, copy and redistribute the elements of a
/// DistArray.
#pragma once

#include "darray/array/core/dist_array.hpp"
#include "darray/array/core/local_copy.hpp"

namespace impishim::darray {

namespace detail {

/// Sets to = function(from), element by element, for arrays of one layout.
template <class T, class U, class Function>
void map_elements(DistArray<T>& to, const DistArray<U>& from, Function function) {
  T* target = to.data();
  const U* source = from.data();
  for_each_row(*from.layout(), [&](Index offset, Index count, Index) {
    for (Index k = 0; k < count; ++k) target[offset + k] = function(source[offset + k]);
  });
}

}  // namespace detail

template <class T>
LocalArray<T> DistArray<T>::get_full() const {
  if (layout_->is_everywhere()) return get_local();
  LocalArray<T> result(shape());
  const LayoutPtr whole = Layout::make(layout_->context(), shape(), kNot, Checks::kOff);
  redistribute(*whole, result.data(), *layout_, data(), element(), "get_full");
  return result;
}

template <class T>
std::optional<LocalArray<T>> DistArray<T>::get_full(int target) const {
  LayoutPtr there;
  const auto call = [&] {
    return CollectiveCall("get_full").with("array", layout_->distribution()).with("target", target);
  };
  agreed(communicator(), Checks::kOn, call, [&] { there = layout_on_one(*layout_, target); });
  const bool mine = layout_->rank() == target;
  LocalArray<T> result(mine ? shape() : Shape{0});
  redistribute(*there, result.data(), *layout_, data(), element(), "get_full", Checks::kOff);
  if (!mine) return std::nullopt;
  return result;
}

template <class T>
template <class U>
void DistArray<T>::set_local(const StridedView<U>& values) {
  assign_view(local(), values);
  hermitian_ = false;
}

template <class T>
template <class U>
void DistArray<T>::set_full(const StridedView<U>& values) {
  cut_own_part(*layout_, data(), values);
  hermitian_ = false;
}

template <class T>
void DistArray<T>::set_full(const StridedView<const T>& values, int root) {
  LayoutPtr there;
  LocalArray<T> copied;
  const T* whole = nullptr;
  const auto call = [&] {
    return CollectiveCall("set_full").with("array", layout_->distribution()).with("root", root);
  };
  agreed(communicator(), Checks::kOn, call, [&] {
    there = layout_on_one(*layout_, root);
    if (layout_->rank() != root) return;
    check_global_shape(*layout_, values.extents());
    whole = values.data();
    // Copies values that are not contiguous, or that overlap the memory of this process's part.
    if (values.is_contiguous() &&
        !memory_of(values).meets(memory_of(data(), layout_->buffer_size())))
      return;
    copied = LocalArray<T>(values);
    whole = copied.data();
  });
  redistribute(*layout_, data(), *there, whole, element(), "set_full", Checks::kOff);
  hermitian_ = false;
}

template <class T>
template <class U>
void DistArray<T>::set_full(const DistArray<U>& other, Checks checks) {
  hermitian_ = false;
  if constexpr (std::is_same_v<T, U>) {
    redistribute(*layout_, data(), *other.layout(), other.data(), element(), "set_full", checks);
  } else if (layout_->aligned(*other.layout())) {
    assign_view(local(), other.local());
  } else {
    DistArray<U> here(layout_);
    redistribute(*layout_, here.data(), *other.layout(), other.data(), here.element(), "set_full",
                 checks);
    assign_view(local(), std::as_const(here).local());
  }
}

template <class T>
template <class U>
DistArray<U> DistArray<T>::copy() const {
  DistArray<U> result(layout_);
  // Copies the ghosts too, because their values belong to the array's state.
  cast_row(result.data(), 1, data(), 1, layout_->buffer_size());
  result.set_hermitian(hermitian_);
  return result;
}

template <class T>
template <class U>
DistArray<U> DistArray<T>::copy(const Strategy& strategy, Checks checks) const {
  if (strategy == layout_->strategy()) return copy<U>();
  // Ranks that agree on the layout need no further agreement on the copy.
  return copy_to<U>(layout_for(*layout_, strategy, checks, scalar_of<U>()), Checks::kOff);
}

template <class T>
template <class U>
DistArray<U> DistArray<T>::copy_empty(const CopyOptions& changes) const {
  if (!changes.global_shape && !changes.local_shape &&
      (!changes.strategy || *changes.strategy == strategy()))
    return copy_empty<U>();
  return DistArray<U>(changed_layout(*layout_, changes, scalar_of<U>()));
}

template <class T>
DistArray<Real<T>> DistArray<T>::real() const {
  DistArray<Real<T>> result(layout_);
  detail::map_elements(result, *this, [](const T& value) { return element_cast<Real<T>>(value); });
  result.set_hermitian(hermitian_);
  return result;
}

template <class T>
DistArray<Real<T>> DistArray<T>::imag() const {
  DistArray<Real<T>> result(layout_);
  detail::map_elements(result, *this, [](const T& value) {
    if constexpr (kIsComplex<T>) {
      return value.imag();
    } else {
      static_cast<void>(value);
      return T(0);
    }
  });
  result.set_hermitian(hermitian_);
  return result;
}

template <class T>
DistArray<T> DistArray<T>::conj() const {
  DistArray result(layout_);
  detail::map_elements(result, *this, [](const T& value) {
    if constexpr (kIsComplex<T>) {
      return std::conj(value);
    } else {
      return value;
    }
  });
  result.set_hermitian(hermitian_);
  return result;
}

template <class T>
DistArray<T> DistArray<T>::flatten() const {
  if (!layout_->is_everywhere() && !layout_->slice_bounds()) {
    agree_on(communicator(), Checks::kOn,
             [this] { return CollectiveCall("flatten").with("array", distribution()); });
    return copy(kEqual, Checks::kOff).flatten();
  }
  DistArray result(flat_layout(*layout_));
  T* target = result.data();
  for_each_row(*layout_, [&](Index offset, Index count, Index position) {
    cast_row(target + position, 1, data() + offset, 1, count);
  });
  result.set_hermitian(hermitian_);
  return result;
}

}  // namespace impishim::darray
