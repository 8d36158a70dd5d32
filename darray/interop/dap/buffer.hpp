// SPDX-License-Identifier: Apache-2.0
/// The memory of a local piece as other libraries describe it: address, element type as text,
/// shape, and strides in bytes. A Buffer does not own its memory, and nothing here copies it.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "darray/base/error.hpp"
#include "darray/interop/dap/value.hpp"
#include "darray/local/strided_view.hpp"

namespace impishim::darray::dap {

/// An n-dimensional buffer. Strides may be negative, as those of reversed views. A buffer without
/// dimensions has one element.
struct Buffer {
  std::byte* data = nullptr;  ///< the element whose indices are all 0
  std::string
      typestr;  ///< in NumPy's form: byte order, kind, bytes ("<f8", "|b1"; "|V12" is opaque)
  Index item_size = 0;
  std::vector<Index> shape;
  std::vector<Index> strides;  ///< in bytes
  bool read_only = false;

  bool operator==(const Buffer&) const = default;
};

/// Returns NumPy's name of an element type in this machine's byte order. Trivially copyable structs
/// are opaque.
template <class T>
std::string typestr_of();

/// Returns the strides in bytes of a row-major buffer. If the buffer has no elements, each stride
/// is the item size. Throws Error(kShape) if the buffer exceeds 2^63 - 1 bytes.
std::vector<Index> row_major_strides(const std::vector<Index>& shape, Index item_size);

/// Returns the item size of a typestr. Throws Error(kType) if the text is not a typestr, or has a
/// byte order different from this machine's.
Index item_size_of(std::string_view typestr);

/// Checks that a buffer is consistent with itself and with the element type. Throws Error(kType),
/// Error(kShape) or Error(kArgument) if it is not.
void check_elements(const Buffer& buffer, std::string_view typestr, Index item_size,
                    std::size_t alignment, bool writes);

/// Returns the view's elements as a buffer with the same address. Nothing is copied.
template <class T>
Buffer buffer_of(const StridedView<T>& view) {
  constexpr auto kSize = static_cast<Index>(sizeof(T));
  Buffer buffer;
  buffer.data = reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(view.data()));
  buffer.typestr = typestr_of<std::remove_const_t<T>>();
  buffer.item_size = kSize;
  buffer.shape = view.extents();
  for (const Index stride : view.strides()) buffer.strides.push_back(stride * kSize);
  buffer.read_only = std::is_const_v<T>;
  return buffer;
}

/// Returns the buffer's elements as a view with the same address. Nothing is copied. Throws
/// Error(kType) if the buffer has another element type. Throws Error(kArgument) if the buffer is
/// read-only and T is not const, or if it is not aligned for T. Throws Error(kShape) if a stride is
/// not a multiple of the element's size.
template <class T>
StridedView<T> view_of(const Buffer& buffer) {
  constexpr auto kSize = static_cast<Index>(sizeof(T));
  check_elements(buffer, typestr_of<std::remove_const_t<T>>(), kSize, alignof(T),
                 !std::is_const_v<T>);
  std::vector<Index> strides;
  for (const Index stride : buffer.strides) strides.push_back(stride / kSize);
  return StridedView<T>(reinterpret_cast<T*>(buffer.data), buffer.shape, std::move(strides));
}

namespace detail {
std::string typestr(char kind, std::size_t size);
template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;
}  // namespace detail

template <class T>
std::string typestr_of() {
  static_assert(std::is_trivially_copyable_v<T>, "elements travel as bytes");
  if constexpr (std::same_as<T, bool>) {
    return detail::typestr('b', sizeof(T));
  } else if constexpr (std::is_integral_v<T>) {
    return detail::typestr(std::is_signed_v<T> ? 'i' : 'u', sizeof(T));
  } else if constexpr (std::is_floating_point_v<T>) {
    return detail::typestr('f', sizeof(T));
  } else if constexpr (detail::is_complex<T>) {
    return detail::typestr('c', sizeof(T));
  } else {
    return detail::typestr('V', sizeof(T));
  }
}

}  // namespace impishim::darray::dap
