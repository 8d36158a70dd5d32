// SPDX-License-Identifier: Apache-2.0
// Operators of reductions and scans on elements of one type in local memory. Without MPI.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

#include "darray/local/combine.hpp"
#include "darray/local/reduce_kernel.hpp"
#include "darray/local/scan_kernel.hpp"

namespace impishim::darray {

/// The operators that the library knows. For kMin and kMax, a NaN makes the result NaN; kNanMin and
/// kNanMax skip NaNs, and give NaN if there is no other value. kAny, kAll, kCount test whether an
/// element differs from zero.
enum class Reducer { kSum, kProduct, kMin, kMax, kNanMin, kNanMax, kAny, kAll, kCount };

/// The functions of an operator. Accumulators may have another type than elements.
struct OperatorKernels {
  /// The identity as one accumulator. If it is empty, a reduction of no elements is an error.
  std::vector<std::byte> identity;
  /// For operators whose identity is no answer (for a minimum: the largest number). Returns true if
  /// one of these results is the identity; the caller must then ask whether there were elements.
  std::function<bool(const void* results, Index count)> doubtful;
  ReduceFunction reduce;    // local part of a reduction
  ScanFunction scan;        // local part of a scan
  CombineFunction combine;  // combines accumulators

  [[nodiscard]] bool has_identity() const { return !identity.empty(); }
};

namespace detail {

/// For policies see PieceReducer.
template <class Policy>
OperatorKernels make_kernels(const Policy& policy) {
  using Accumulator = typename Policy::Accumulator;
  static_assert(std::is_trivially_copyable_v<Accumulator>);
  OperatorKernels result;
  if (const std::optional<Accumulator> unit = policy.identity()) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&*unit);
    result.identity.assign(bytes, bytes + sizeof(Accumulator));
  }
  result.reduce = reduce_function(policy);
  result.scan = scan_function(policy);
  result.combine = [policy](std::byte* into, const std::byte* from, Index count) {
    auto* target = reinterpret_cast<Accumulator*>(into);
    const auto* right = reinterpret_cast<const Accumulator*>(from);
    for (Index k = 0; k < count; ++k) policy.merge(target[k], right[k]);
  };
  return result;
}

template <class T>
struct SumOf {
  using type = T;
};
template <class T>
requires std::is_integral_v<T>
struct SumOf<T> {
  using type = std::conditional_t<std::is_same_v<T, bool> || std::is_signed_v<T>, std::int64_t,
                                  std::uint64_t>;
};
}  // namespace detail

/// Returns the type of a sum or product: 64 bits for integers and bool, otherwise the type of the
/// elements.
template <class T>
using SumOf = typename detail::SumOf<T>::type;

/// Returns the functions of an operator for an element type. Errors: kType when the type has no
/// such operator.
OperatorKernels operator_kernels(Reducer reducer, Scalar scalar);
/// Returns the type of its accumulators. Errors: kType for kOpaque.
Scalar accumulator_of(Reducer reducer, Scalar scalar);

/// Number, mean and sum of squared distances from the mean of elements (for complex elements: of
/// their absolute values), merged without cancellation. The accumulator of moments_kernels().
struct Moments {
  double count = 0;
  double mean = 0;       // its real part
  double imaginary = 0;  // imaginary part of the mean of complex elements
  double squares = 0;
};

/// Returns the functions that compute moments. Errors: kType for opaque elements.
OperatorKernels moments_kernels(Scalar scalar);

}  // namespace impishim::darray
