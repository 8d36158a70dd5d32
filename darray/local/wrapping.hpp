// SPDX-License-Identifier: Apache-2.0
// Sums and products that never overflow. Without MPI.
#pragma once

#include <type_traits>

namespace impishim::darray {

namespace detail {

// Products of types narrower than unsigned would be computed as int.
template <class T>
using WrappingType =
    typename std::conditional_t<(sizeof(T) < sizeof(unsigned)), std::type_identity<unsigned>,
                                std::make_unsigned<T>>::type;

}  // namespace detail

/// Returns a + b. Integers wrap around: signed ones are added as unsigned, which is defined
/// behaviour. For bool: or.
template <class T>
T wrapping_sum(const T& a, const T& b) {
  if constexpr (std::is_integral_v<T>) {
    using W = detail::WrappingType<T>;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  } else {
    return a + b;
  }
}

/// Returns a * b in the same way. For bool: and.
template <class T>
T wrapping_product(const T& a, const T& b) {
  if constexpr (std::is_integral_v<T>) {
    using W = detail::WrappingType<T>;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  } else {
    return a * b;
  }
}

}  // namespace impishim::darray
