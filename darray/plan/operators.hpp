// Operators of reductions and scans: what they make of the elements of one type.
#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

#include "darray/plan/reduce_kernel.hpp"
#include "darray/plan/scan_kernel.hpp"
#include "darray/schedule/element.hpp"

namespace impishim::darray {

/// The operators that the library knows. kMin and kMax: a NaN makes the result NaN; kNanMin and kNanMax skip NaNs, and give NaN
/// if there is nothing else. kAny, kAll, kCount ask whether an element differs from zero.
enum class Reducer { kSum, kProduct, kMin, kMax, kNanMin, kNanMax, kAny, kAll, kCount };

/// An operator on elements of one type. Accumulators may be of another type than elements: integers and bool are summed in 64
/// bits.
struct ReduceOperator {
  Element source;       // elements
  Element accumulator;  // and what comes out
  /// Of one accumulator, or empty: then no result can be made of no elements but an error.
  std::vector<std::byte> identity;
  /// For operators whose identity is no answer: the largest number there is, for a minimum. Whether one of these results is the
  /// identity; whoever finds it must ask whether there were elements.
  std::function<bool(const void* results, Index count)> doubtful;
  ReduceFunction reduce;    // the local part of a reduction
  ScanFunction scan;        // and of a scan
  CombineFunction combine;  // of accumulators

  [[nodiscard]] bool has_identity() const { return !identity.empty(); }
};

namespace detail {

/// For policies see PieceReducer.
template <class Policy>
ReduceOperator make_operator(const Element& source, const Element& accumulator, const Policy& policy) {
  using Accumulator = typename Policy::Accumulator;
  static_assert(std::is_trivially_copyable_v<Accumulator>);
  ReduceOperator result;
  result.source = source;
  result.accumulator = accumulator;
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

}  // namespace detail

namespace detail {
template <class T>
struct SumOf {
  using type = T;
};
template <class T>
requires std::is_integral_v<T>
struct SumOf<T> {
  using type = std::conditional_t<std::is_same_v<T, bool> || std::is_signed_v<T>, std::int64_t, std::uint64_t>;
};
}  // namespace detail

/// The type of a sum or product: 64 bits for integers and bool, else the elements' own.
template <class T>
using SumOf = typename detail::SumOf<T>::type;

/// Errors: kType when the type has no such operator.
ReduceOperator reduce_operator(Reducer reducer, Scalar scalar);

/// A user's operator on scalars or any trivially copyable type (which is sent as bytes): `operation(a, b)` gives a T for two T;
/// it should be associative. It is called in a fixed order. Without an identity, masks and arrays without elements are errors.
template <class T, class Operation>
ReduceOperator reduce_operator(Operation operation, std::optional<T> identity = {}) {
  static_assert(std::is_trivially_copyable_v<T>);
  Element element = opaque(sizeof(T));
  if constexpr (scalar_of<T>() != Scalar::kOpaque) element = element_of<T>();
  return detail::make_operator(element, element, detail::UserPolicy<T, Operation>{operation, identity});
}

/// Number, mean and sum of squared distances from the mean of elements (for complex ones: of their absolute values), merged
/// without cancellation. The accumulator of moments_operator().
struct Moments {
  double count = 0;
  double mean = 0;       // real part
  double imaginary = 0;  // of the mean of complex elements
  double squares = 0;
};

/// Errors: kType for opaque elements.
ReduceOperator moments_operator(Scalar scalar);

}  // namespace impishim::darray
