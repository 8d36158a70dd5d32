// SPDX-License-Identifier: Apache-2.0
// Sums, products and moments.
#include "darray/local/detail/operator_families.hpp"
#include "darray/local/wrapping.hpp"

namespace impishim::darray {
namespace {

template <class T>
struct SumPolicy {
  using Value = T;
  using Accumulator = SumOf<T>;
  static constexpr bool kCommutative = true;
  Accumulator lift(const T& value) const { return static_cast<Accumulator>(value); }
  void add(Accumulator& into, const T& value) const { into = wrapping_sum(into, lift(value)); }
  void merge(Accumulator& into, const Accumulator& right) const {
    into = wrapping_sum(into, right);
  }
  std::optional<Accumulator> identity() const { return Accumulator{}; }
};

template <class T>
struct ProductPolicy {
  using Value = T;
  using Accumulator = SumOf<T>;
  static constexpr bool kCommutative = true;
  Accumulator lift(const T& value) const { return static_cast<Accumulator>(value); }
  void add(Accumulator& into, const T& value) const { into = wrapping_product(into, lift(value)); }
  void merge(Accumulator& into, const Accumulator& right) const {
    into = wrapping_product(into, right);
  }
  std::optional<Accumulator> identity() const { return Accumulator{1}; }
};

template <class T>
struct MomentsPolicy {
  using Value = T;
  using Accumulator = Moments;
  static constexpr bool kCommutative = true;

  static double real(const T& value) {
    if constexpr (detail::is_complex<T>) {
      return static_cast<double>(value.real());
    } else {
      return static_cast<double>(value);
    }
  }
  static double imaginary(const T& value) {
    if constexpr (detail::is_complex<T>) {
      return static_cast<double>(value.imag());
    } else {
      return 0;
    }
  }

  Moments lift(const T& value) const { return {1, real(value), imaginary(value), 0}; }
  void add(Moments& into, const T& value) const { merge(into, lift(value)); }
  // Chan, Golub, LeVeque: no difference of large sums.
  void merge(Moments& into, const Moments& right) const {
    if (right.count == 0) return;
    const double count = into.count + right.count;
    const double step = right.mean - into.mean;
    const double imaginary_step = right.imaginary - into.imaginary;
    into.squares += right.squares + (step * step + imaginary_step * imaginary_step) * into.count *
                                        right.count / count;
    into.mean += step * right.count / count;
    into.imaginary += imaginary_step * right.count / count;
    into.count = count;
  }
  std::optional<Moments> identity() const { return Moments{}; }

  // Few values: computes first their mean, then the distances from it.
  template <class At>
  Moments block(Index count, const At& at) const {
    Moments result{static_cast<double>(count), 0, 0, 0};
    // Relative to the first value, so that large values that differ little lose no precision.
    const double origin = real(at(0));
    const double imaginary_origin = imaginary(at(0));
    for (Index k = 0; k < count; ++k) {
      const T value = at(k);
      result.mean += real(value) - origin;
      result.imaginary += imaginary(value) - imaginary_origin;
    }
    result.mean = origin + result.mean / result.count;
    result.imaginary = imaginary_origin + result.imaginary / result.count;
    for (Index k = 0; k < count; ++k) {
      const T value = at(k);
      const double step = real(value) - result.mean;
      const double imaginary_step = imaginary(value) - result.imaginary;
      result.squares += step * step + imaginary_step * imaginary_step;
    }
    return result;
  }
};

}  // namespace

OperatorKernels arithmetic_kernels(Reducer reducer, Scalar scalar) {
  return with_scalar(scalar, [&]<class T>(std::type_identity<T>) {
    if (reducer == Reducer::kSum) return detail::make_kernels(SumPolicy<T>());
    return detail::make_kernels(ProductPolicy<T>());
  });
}

OperatorKernels moments_kernels(Scalar scalar) {
  return with_scalar(scalar, []<class T>(std::type_identity<T>) {
    return detail::make_kernels(MomentsPolicy<T>());
  });
}

}  // namespace impishim::darray
