// SPDX-License-Identifier: Apache-2.0
/// The common type of two values, by NumPy's rules (D2O-60).
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "darray/array/core/element_cast.hpp"
#include "darray/base/error.hpp"

namespace impishim::darray {

/// A type of an element, or of a scalar in an operation with an array.
template <class T>
concept ElementValue = std::is_arithmetic_v<T> || kIsComplex<T>;

namespace detail {

template <std::size_t Bytes>
struct SignedOf {
  using Type = double;  // no integer type holds both 64-bit kinds
};
template <>
struct SignedOf<1> {
  using Type = std::int8_t;
};
template <>
struct SignedOf<2> {
  using Type = std::int16_t;
};
template <>
struct SignedOf<4> {
  using Type = std::int32_t;
};
template <>
struct SignedOf<8> {
  using Type = std::int64_t;
};

// Returns false for float with integers that float does not represent exactly: float becomes
// double.
template <class F, class T>
constexpr bool holds() {
  return !std::is_same_v<F, float> || std::is_same_v<T, float> || sizeof(T) < 4;
}

template <class A, class B>
auto promote() {
  if constexpr (kIsComplex<A> || kIsComplex<B>) {
    using Part = decltype(promote<Real<A>, Real<B>>());
    if constexpr (std::is_same_v<Part, float> || sizeof(Part) < 4) {
      return std::complex<float>();
    } else {
      return std::complex<double>();
    }
  } else if constexpr (std::is_same_v<A, B> || std::is_same_v<B, bool>) {
    return A();
  } else if constexpr (std::is_same_v<A, bool>) {
    return B();
  } else if constexpr (std::is_floating_point_v<A> && std::is_floating_point_v<B>) {
    return std::common_type_t<A, B>();
  } else if constexpr (std::is_floating_point_v<A>) {
    return std::conditional_t<holds<A, B>(), A, double>();
  } else if constexpr (std::is_floating_point_v<B>) {
    return promote<B, A>();
  } else if constexpr (std::is_signed_v<A> == std::is_signed_v<B>) {
    return std::conditional_t<(sizeof(A) >= sizeof(B)), A, B>();
  } else if constexpr (std::is_signed_v<A>) {
    return typename SignedOf<(sizeof(A) > sizeof(B) ? sizeof(A) : 2 * sizeof(B))>::Type();
  } else {
    return promote<B, A>();
  }
}

template <class T>
constexpr int category() {
  return kIsComplex<T> ? 3 : std::is_floating_point_v<T> ? 2 : std::is_same_v<T, bool> ? 0 : 1;
}

}  // namespace detail

/// The common type of the values of two arrays, as in NumPy. float with 32-bit integers becomes
/// double. Signed with unsigned becomes the signed type that holds both.
template <ElementValue A, ElementValue B>
using Promoted = decltype(detail::promote<A, B>());

/// double for integers and bool, the type of their square roots and quotients; else the type
/// itself.
template <class T>
using Floating = std::conditional_t<std::is_integral_v<T>, double, T>;

/// The type of a scalar S in an operation with an array of T. It is the array's type unless the
/// scalar is of a higher kind (bool, integer, floating point, complex). So float arrays remain
/// float with 2.0.
template <ElementValue T, ElementValue S>
using WeakScalar =
    std::conditional_t<(detail::category<S>() <= detail::category<T>()), T,
                       std::conditional_t<detail::category<S>() == 3 && detail::category<T>() == 2,
                                          Promoted<std::complex<float>, T>, Promoted<T, S>>>;

/// Casts the scalar to that type. Throws Error(kType) if the array's type does not hold an integer.
template <class T, class S>
WeakScalar<T, S> weak_cast(S scalar) {
  using To = WeakScalar<T, S>;
  if constexpr (std::is_integral_v<To> && std::is_integral_v<S> && !std::is_same_v<To, bool> &&
                !std::is_same_v<S, bool>) {
    if (!std::in_range<To>(scalar))
      fail(ErrorKind::kType, "the scalar {} is no value of an array of {}-byte integers", scalar,
           sizeof(To));
  }
  return element_cast<To>(scalar);
}

}  // namespace impishim::darray
