/// Casts between element types (D2O-50).
#pragma once

#include <complex>
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

/// A value as another element type. The imaginary part is dropped where the target has none, everything but 0 is true.
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
    return static_cast<To>(value.real());
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace impishim::darray
