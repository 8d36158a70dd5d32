// SPDX-License-Identifier: Apache-2.0
// Minimum and maximum.
#include <limits>

#include "darray/local/detail/operator_families.hpp"

namespace impishim::darray {
namespace {

template <class T>
bool is_nan(const T& value) {
  return value != value;  // false for integers
}

template <class T, bool kMaximum>
constexpr T furthest() {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::has_infinity) return kMaximum ? -Limits::infinity() : Limits::infinity();
  return kMaximum ? Limits::lowest() : Limits::max();
}

// kSkipsNan: NaN is the result only if there is no other value. Otherwise NaN takes precedence over
// every number.
template <class T, bool kMaximum, bool kSkipsNan>
struct ExtremePolicy {
  using Value = T;
  using Accumulator = T;
  static constexpr bool kCommutative = true;
  T lift(const T& value) const { return value; }
  void add(T& into, const T& value) const {
    const bool nearer = kMaximum ? value > into : value < into;
    into = nearer || is_nan(kSkipsNan ? into : value) ? value : into;
  }
  void merge(T& into, const T& right) const { add(into, right); }
  std::optional<T> identity() const {
    if constexpr (kSkipsNan && std::is_floating_point_v<T>)
      return std::numeric_limits<T>::quiet_NaN();
    return furthest<T, kMaximum>();
  }
};

template <class Policy>
OperatorKernels make(const Policy& policy) {
  using T = typename Policy::Value;
  OperatorKernels result = detail::make_kernels(policy);
  result.doubtful = [unit = *policy.identity()](const void* results, Index count) {
    const T* values = static_cast<const T*>(results);
    return std::any_of(values, values + count, [&](const T& value) {
      return value == unit || (is_nan(value) && is_nan(unit));
    });
  };
  return result;
}

}  // namespace

OperatorKernels order_kernels(Reducer reducer, Scalar scalar) {
  return with_scalar(scalar, [&]<class T>(std::type_identity<T>) -> OperatorKernels {
    if constexpr (detail::is_complex<T>) {
      fail(ErrorKind::kType, "elements of type {} have no order", name_of(scalar));
    } else {
      const bool maximum = reducer == Reducer::kMax || reducer == Reducer::kNanMax;
      if (std::is_floating_point_v<T> &&
          (reducer == Reducer::kNanMin || reducer == Reducer::kNanMax)) {
        return maximum ? make(ExtremePolicy<T, true, true>())
                       : make(ExtremePolicy<T, false, true>());
      }
      return maximum ? make(ExtremePolicy<T, true, false>())
                     : make(ExtremePolicy<T, false, false>());
    }
  });
}

}  // namespace impishim::darray
