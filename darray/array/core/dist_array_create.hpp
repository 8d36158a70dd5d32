// SPDX-License-Identifier: Apache-2.0
/// Bodies of dist_array.hpp: functions that create a DistArray.
#pragma once

#include "darray/array/core/dist_array.hpp"
#include "darray/array/core/local_copy.hpp"

namespace impishim::darray {

namespace detail {

template <class T>
LayoutPtr global_layout(MPI_Comm comm, std::span<const Index> shape, const Strategy& strategy,
                        Checks checks) {
  return Layout::make(Context::of(comm), shape, strategy, checks, scalar_of<T>());
}

}  // namespace detail

template <class T>
DistArray<T> DistArray<T>::empty(MPI_Comm comm, std::span<const Index> shape,
                                 const Strategy& strategy, Checks checks) {
  return DistArray(detail::global_layout<T>(comm, shape, strategy, checks));
}

template <class T>
DistArray<T> DistArray<T>::full(MPI_Comm comm, std::span<const Index> shape, T value,
                                const Strategy& strategy, Checks checks) {
  DistArray result = empty(comm, shape, strategy, checks);
  result.fill(value);
  return result;
}

template <class T>
DistArray<T> DistArray<T>::zeros(MPI_Comm comm, std::span<const Index> shape,
                                 const Strategy& strategy, Checks checks) {
  return full(comm, shape, T(0), strategy, checks);
}

template <class T>
DistArray<T> DistArray<T>::ones(MPI_Comm comm, std::span<const Index> shape,
                                const Strategy& strategy, Checks checks) {
  return full(comm, shape, T(1), strategy, checks);
}

template <class T>
template <class Function>
DistArray<T> DistArray<T>::from_function(MPI_Comm comm, std::span<const Index> shape,
                                         Function function, const Strategy& strategy,
                                         Checks checks) {
  DistArray result = empty(comm, shape, strategy, checks);
  fill_by_index(*result.layout(), result.data(), std::move(function));
  return result;
}

template <class T>
DistArray<T> DistArray<T>::arange(MPI_Comm comm, std::span<const Index> shape,
                                  const Strategy& strategy, Checks checks) {
  const std::vector<Index> strides = StridedView<char>::row_major({shape.begin(), shape.end()});
  const auto flat = [&](std::span<const Index> indices) {
    Index number = 0;
    for (std::size_t axis = 0; axis < indices.size(); ++axis)
      number += indices[axis] * strides[axis];
    return number;
  };
  return from_function(comm, shape, flat, strategy, checks);
}

template <class T>
template <class U>
DistArray<T> DistArray<T>::from_global(MPI_Comm comm, const StridedView<U>& data,
                                       const Strategy& strategy, Checks checks, CopyMode copy) {
  LayoutPtr layout = detail::global_layout<T>(comm, data.extents(), strategy, checks);
  if constexpr (std::is_same_v<T, U>) {
    if (copy == CopyMode::kAvoid && strategy.kind() == kNot && data.is_contiguous()) {
      return DistArray(std::move(layout), Storage<T>(data.data()));
    }
  }
  DistArray result(std::move(layout));
  agreed(result.communicator(), checks, "from_global",
         [&] { cut_own_part(*result.layout(), result.data(), data); });
  return result;
}

template <class T>
template <class U>
DistArray<T> DistArray<T>::from_local(MPI_Comm comm, const StridedView<U>& data, Checks checks,
                                      CopyMode copy) {
  LayoutPtr layout =
      Layout::make_freeform(Context::of(comm), data.extents(), checks, scalar_of<T>());
  if constexpr (std::is_same_v<T, U>) {
    if (copy == CopyMode::kAvoid && data.is_contiguous())
      return DistArray(std::move(layout), Storage<T>(data.data()));
  }
  DistArray result(std::move(layout));
  assign_view(result.local(), data);
  return result;
}

template <class T>
template <class U>
DistArray<T> DistArray<T>::from_array(const DistArray<U>& data, const Strategy& strategy,
                                      Checks checks) {
  return data.template copy<T>(strategy, checks);
}

template <class T>
template <class U>
DistArray<T> DistArray<T>::from_array_as_local(const DistArray<U>& data, Checks checks) {
  const LocalArray<U> whole = data.get_full();
  return from_local(data.layout()->context()->user(), whole.view(), checks);
}

template <class T>
void DistArray<T>::fill(T value) {
  for_each_row(*layout_, [&](Index offset, Index count, Index) {
    std::fill_n(data() + offset, count, value);
  });
  hermitian_ = true;
  if constexpr (kIsComplex<T>) hermitian_ = value.imag() == 0;
}

}  // namespace impishim::darray
