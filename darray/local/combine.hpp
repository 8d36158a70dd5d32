// SPDX-License-Identifier: Apache-2.0
// The operators that combine values that arrive with the values in place. Without MPI.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>

#include "darray/base/error.hpp"
#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// What a receiver does with a value that arrives. On bool, kSum and kMax are "or", kProduct and
/// kMin are "and". kAnd, kOr and kXor are bitwise on integers and refused for floating point. kMin
/// and kMax are refused for complex. Integers wrap around.
enum class Combine { kReplace, kSum, kProduct, kMin, kMax, kAnd, kOr, kXor };

/// Element types that operators know. kOpaque stands for bytes that are never converted, and that
/// only a user's function combines.
enum class Scalar {
  kOpaque,
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat,
  kDouble,
  kLongDouble,
  kComplexFloat,
  kComplexDouble
};

template <class T>
constexpr Scalar scalar_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return Scalar::kBool;
  } else if constexpr (std::is_integral_v<T>) {
    constexpr bool kSigned = std::is_signed_v<T>;
    switch (sizeof(T)) {
      case 1:
        return kSigned ? Scalar::kInt8 : Scalar::kUint8;
      case 2:
        return kSigned ? Scalar::kInt16 : Scalar::kUint16;
      case 4:
        return kSigned ? Scalar::kInt32 : Scalar::kUint32;
      default:
        return kSigned ? Scalar::kInt64 : Scalar::kUint64;
    }
  } else if constexpr (std::is_same_v<T, float>) {
    return Scalar::kFloat;
  } else if constexpr (std::is_same_v<T, double>) {
    return Scalar::kDouble;
  } else if constexpr (std::is_same_v<T, long double>) {
    return Scalar::kLongDouble;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return Scalar::kComplexFloat;
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return Scalar::kComplexDouble;
  } else {
    return Scalar::kOpaque;
  }
}

std::string_view name_of(Combine operation);
std::string_view name_of(Scalar scalar);
/// Returns the number of bytes of one element. Not for kOpaque.
std::size_t size_of(Scalar scalar);

/// Computes into[k] = into[k] (op) from[k] for `count` adjacent elements. The two arrays do not
/// overlap. They need not be aligned for the element type, but must be multiples of its size from
/// an aligned allocation.
using CombineFunction = std::function<void(std::byte* into, const std::byte* from, Index count)>;

/// Returns the function of an operator for an element type, empty for kReplace. Errors: kType when
/// the type has no such operator.
CombineFunction combine_function(Combine operation, Scalar scalar);

/// Returns a user's operator as a CombineFunction: `operation(there, arrived)` returns the new
/// value. It should be associative; schedules call it in a fixed order by rank.
template <class T, class Operation>
CombineFunction combine_with(Operation operation) {
  return [operation](std::byte* into, const std::byte* from, Index count) {
    T* target = reinterpret_cast<T*>(into);
    const T* source = reinterpret_cast<const T*>(from);
    for (Index k = 0; k < count; ++k) target[k] = operation(target[k], source[k]);
  };
}

}  // namespace impishim::darray
