// SPDX-License-Identifier: Apache-2.0
// The operators that test whether elements differ from zero, and the table of all operators.
#include "darray/local/detail/operator_families.hpp"

namespace impishim::darray {
namespace {

template <class T>
bool is_set(const T& value) {
  return value != T{};
}

// kAll: tests whether all elements are set; otherwise whether any is.
template <class T, bool kAll>
struct LogicPolicy {
  using Value = T;
  using Accumulator = bool;
  static constexpr bool kCommutative = true;
  bool lift(const T& value) const { return is_set(value); }
  void add(bool& into, const T& value) const { merge(into, is_set(value)); }
  void merge(bool& into, const bool& right) const { into = kAll ? into & right : into | right; }
  std::optional<bool> identity() const { return kAll; }
};

template <class T>
struct CountPolicy {
  using Value = T;
  using Accumulator = Index;
  static constexpr bool kCommutative = true;
  Index lift(const T& value) const { return is_set(value) ? 1 : 0; }
  void add(Index& into, const T& value) const { into += lift(value); }
  void merge(Index& into, const Index& right) const { into += right; }
  std::optional<Index> identity() const { return 0; }
};

}  // namespace

OperatorKernels logic_kernels(Reducer reducer, Scalar scalar) {
  return with_scalar(scalar, [&]<class T>(std::type_identity<T>) {
    if (reducer == Reducer::kCount) return detail::make_kernels(CountPolicy<T>());
    if (reducer == Reducer::kAll) return detail::make_kernels(LogicPolicy<T, true>());
    return detail::make_kernels(LogicPolicy<T, false>());
  });
}

OperatorKernels operator_kernels(Reducer reducer, Scalar scalar) {
  switch (reducer) {
    case Reducer::kSum:
    case Reducer::kProduct:
      return arithmetic_kernels(reducer, scalar);
    case Reducer::kMin:
    case Reducer::kMax:
    case Reducer::kNanMin:
    case Reducer::kNanMax:
      return order_kernels(reducer, scalar);
    case Reducer::kAny:
    case Reducer::kAll:
    case Reducer::kCount:
      return logic_kernels(reducer, scalar);
  }
  fail(ErrorKind::kArgument, "no operator has number {}", static_cast<int>(reducer));
}

Scalar accumulator_of(Reducer reducer, Scalar scalar) {
  if (reducer == Reducer::kCount) return scalar_of<Index>();
  if (reducer == Reducer::kAny || reducer == Reducer::kAll) return Scalar::kBool;
  if (reducer != Reducer::kSum && reducer != Reducer::kProduct) return scalar;
  return with_scalar(scalar, []<class T>(std::type_identity<T>) { return scalar_of<SumOf<T>>(); });
}

}  // namespace impishim::darray
