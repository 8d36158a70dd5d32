// SPDX-License-Identifier: Apache-2.0
/// Casts between element types (D2O-50).
#pragma once

#include <complex>
#include <limits>
#include <type_traits>

namespace impishim::darray {

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};
template <class T>
inline constexpr bool kIsComplex = IsComplex<T>::value;

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
/// The type of a value's real part.
template <class T>
using Real = typename RealOf<T>::Type;

/// Converts a floating-point number to an integer. Rounds toward 0, clamps to the type's range, and
/// converts NaN to 0. The language leaves the last two cases undefined, and processors differ. This
/// function gives the same result on all machines.
template <class To, class From>
constexpr To integer_cast(From value) {
  using Limits = std::numeric_limits<To>;
  // A power of 2, which every type represents exactly.
  constexpr auto kBeyond = static_cast<From>(Limits::max() / 2 + 1) * 2;
  if (value >= kBeyond) return Limits::max();
  if (value > static_cast<From>(Limits::lowest())) return static_cast<To>(value);
  return value != value ? To(0) : Limits::lowest();
}

/// Converts a value to another element type. Drops the imaginary part if the target has none.
/// Converts everything but 0 to true. Integers wrap around; floating-point numbers become integers
/// by integer_cast().
template <class To, class From>
constexpr To element_cast(const From& value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIsComplex<To> && kIsComplex<From>) {
    return To(static_cast<Real<To>>(value.real()), static_cast<Real<To>>(value.imag()));
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<Real<To>>(value), Real<To>(0));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (kIsComplex<From>) {
    return element_cast<To>(value.real());
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return integer_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace impishim::darray
