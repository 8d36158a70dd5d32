// SPDX-License-Identifier: Apache-2.0
/// Functions of every element (DIS-06, D2O-64 to D2O-66). Results are expressions. Integers are
/// computed in double if the result is not an integer.
#pragma once

#include <cmath>
#include <complex>
#include <limits>

#include "darray/array/math/arithmetic.hpp"

namespace impishim::darray {

namespace operations {

// With real coefficients: the value of the conjugate is the conjugate of the value. Logarithms have
// a branch cut, where this does not hold: log(-1) is not real. They keep the flag as d2o's do
// (D2O-53).
struct Analytic {
  static constexpr bool kKeepsHermitian = true;
};

// Functions with a branch cut on the real axis: complex values lose the flag, because a real number
// on the cut has a value that is not real, as sqrt(-1). Real arrays stay real.
struct CutOnRealAxis {
  template <class Operand>
  static bool keeps_hermitian(const Operand&) {
    return !kIsComplex<typename Operand::Value>;
  }
};

#define DARRAY_FUNCTION(Name, function, Kind)   \
  struct Name : Kind {                          \
    template <class T>                          \
    auto operator()(const T& value) const {     \
      return std::function(Floating<T>(value)); \
    }                                           \
  };
DARRAY_FUNCTION(Exp, exp, Analytic)
DARRAY_FUNCTION(Expm1, expm1, Analytic)
DARRAY_FUNCTION(Log, log, Analytic)
DARRAY_FUNCTION(Log10, log10, Analytic)
DARRAY_FUNCTION(Log1p, log1p, Analytic)
DARRAY_FUNCTION(Sqrt, sqrt, CutOnRealAxis)
DARRAY_FUNCTION(Sin, sin, Analytic)
DARRAY_FUNCTION(Cos, cos, Analytic)
DARRAY_FUNCTION(Tan, tan, Analytic)
DARRAY_FUNCTION(Arcsin, asin, CutOnRealAxis)
DARRAY_FUNCTION(Arccos, acos, CutOnRealAxis)
DARRAY_FUNCTION(Arctan, atan, Analytic)
DARRAY_FUNCTION(Sinh, sinh, Analytic)
DARRAY_FUNCTION(Cosh, cosh, Analytic)
DARRAY_FUNCTION(Tanh, tanh, Analytic)
DARRAY_FUNCTION(Arcsinh, asinh, Analytic)
DARRAY_FUNCTION(Arccosh, acosh, CutOnRealAxis)
DARRAY_FUNCTION(Arctanh, atanh, CutOnRealAxis)
#undef DARRAY_FUNCTION

struct Positive : Analytic {
  template <class T>
  T operator()(const T& value) const {
    return value;
  }
};

struct Negative : Analytic {
  template <class T>
  T operator()(const T& value) const {
    static_assert(!std::is_same_v<T, bool>, "bool arrays have no negative: use ~");
    if constexpr (std::is_integral_v<T>) return Subtract()(T(0), value);
    return -value;
  }
};

struct Absolute : Analytic {
  template <class T>
  Real<T> operator()(const T& value) const {
    if constexpr (std::is_same_v<T, bool> || std::is_unsigned_v<T>) {
      return value;
    } else if constexpr (std::is_integral_v<T>) {
      return value < 0 ? Negative()(value) : value;
    } else {
      return std::abs(value);
    }
  }
};

struct Square : Analytic {
  template <class T>
  T operator()(const T& value) const {
    return Multiply()(value, value);
  }
};

struct Reciprocal : Analytic {
  template <class T>
  auto operator()(const T& value) const {
    return Floating<T>(1) / Floating<T>(value);
  }
};

/// Rounds to the nearest integer, and halves to the even one.
struct Rint : Analytic {
  template <class T>
  auto operator()(const T& value) const {
    if constexpr (kIsComplex<T>) {
      return T(std::rint(value.real()), std::rint(value.imag()));
    } else {
      return std::rint(Floating<T>(value));
    }
  }
};

/// Returns -1, 0 or 1, and NaN for NaN.
struct Sign : Analytic {
  template <class T>
  T operator()(const T& value) const {
    static_assert(!kIsComplex<T>, "complex numbers have no sign");
    if (value != value) return value;
    return static_cast<T>((T(0) < value ? 1 : 0) - (value < T(0) ? 1 : 0));
  }
};

struct Conjugate : Analytic {
  template <class T>
  T operator()(const T& value) const {
    if constexpr (kIsComplex<T>) return std::conj(value);
    return value;
  }
};

struct RealPart : Analytic {
  template <class T>
  Real<T> operator()(const T& value) const {
    return element_cast<Real<T>>(value);
  }
};

struct ImaginaryPart : Analytic {
  template <class T>
  Real<T> operator()(const T& value) const {
    if constexpr (kIsComplex<T>) return value.imag();
    return Real<T>(0);
  }
};

/// Inverts the bits of an integer, or negates a bool.
struct Invert : Bitwise {
  template <class T>
  T operator()(const T& value) const {
    static_assert(std::is_integral_v<T>, "only integers and bool are inverted");
    if constexpr (std::is_same_v<T, bool>) return !value;
    return static_cast<T>(~value);
  }
};

#define DARRAY_PREDICATE(Name, join, test)                 \
  struct Name : Logic {                                    \
    template <class T>                                     \
    bool operator()(const T& value) const {                \
      if constexpr (kIsComplex<T>) {                       \
        return test(value.real()) join test(value.imag()); \
      } else if constexpr (std::is_integral_v<T>) {        \
        return test(0.0);                                  \
      } else {                                             \
        return test(value);                                \
      }                                                    \
    }                                                      \
  };
DARRAY_PREDICATE(IsNan, ||, std::isnan)
DARRAY_PREDICATE(IsInf, ||, std::isinf)
DARRAY_PREDICATE(IsFinite, &&, std::isfinite)
#undef DARRAY_PREDICATE

struct IsReal : Logic {
  template <class T>
  bool operator()(const T& value) const {
    return ImaginaryPart()(value) == Real<T>(0);
  }
};

struct IsComplexValue : Logic {
  template <class T>
  bool operator()(const T& value) const {
    return !IsReal()(value);
  }
};

/// Replaces NaN by 0, and infinities by the largest finite numbers.
struct NanToNum : Analytic {
  template <class T>
  T operator()(const T& value) const {
    if constexpr (kIsComplex<T>) {
      return T((*this)(value.real()), (*this)(value.imag()));
    } else if constexpr (std::is_integral_v<T>) {
      return value;
    } else {
      if (std::isnan(value)) return T(0);
      if (std::isinf(value))
        return value > 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
      return value;
    }
  }
};

/// Calls a user's function.
template <class Function>
struct Apply {
  static constexpr bool kKeepsHermitian = false;
  static constexpr Weak kWeak = Weak::kNone;
  Function function;
  template <class... T>
  auto operator()(const T&... values) const {
    return function(values...);
  }
};

}  // namespace operations

#define DARRAY_UNARY(name, Operation)                                                 \
  template <ArrayLike A>                                                              \
  auto name(A&& array) {                                                              \
    return detail::make_node(                                                         \
        operations::Operation(),                                                      \
        detail::as_expression<operations::Arithmetic, bool>(std::forward<A>(array))); \
  }
DARRAY_UNARY(operator+, Positive)
DARRAY_UNARY(operator-, Negative)
DARRAY_UNARY(operator~, Invert)
DARRAY_UNARY(abs, Absolute)
DARRAY_UNARY(exp, Exp)
DARRAY_UNARY(expm1, Expm1)
DARRAY_UNARY(log, Log)
DARRAY_UNARY(log10, Log10)
DARRAY_UNARY(log1p, Log1p)
DARRAY_UNARY(sqrt, Sqrt)
DARRAY_UNARY(square, Square)
DARRAY_UNARY(sin, Sin)
DARRAY_UNARY(cos, Cos)
DARRAY_UNARY(tan, Tan)
DARRAY_UNARY(arcsin, Arcsin)
DARRAY_UNARY(arccos, Arccos)
DARRAY_UNARY(arctan, Arctan)
DARRAY_UNARY(sinh, Sinh)
DARRAY_UNARY(cosh, Cosh)
DARRAY_UNARY(tanh, Tanh)
DARRAY_UNARY(arcsinh, Arcsinh)
DARRAY_UNARY(arccosh, Arccosh)
DARRAY_UNARY(arctanh, Arctanh)
DARRAY_UNARY(reciprocal, Reciprocal)
DARRAY_UNARY(rint, Rint)
DARRAY_UNARY(sign, Sign)
DARRAY_UNARY(conj, Conjugate)
DARRAY_UNARY(real, RealPart)
DARRAY_UNARY(imag, ImaginaryPart)
DARRAY_UNARY(isreal, IsReal)
DARRAY_UNARY(iscomplex, IsComplexValue)
DARRAY_UNARY(isnan, IsNan)
DARRAY_UNARY(isinf, IsInf)
DARRAY_UNARY(isfinite, IsFinite)
DARRAY_UNARY(nan_to_num, NanToNum)
#undef DARRAY_UNARY

/// Returns function(a, b, ...) of every element, as an expression. Takes one or several arrays;
/// scalars keep their type.
template <class Function, Operand... Operands>
requires(ArrayLike<Operands> || ...) auto apply(Function function, Operands&&... operands) {
  using Operation = operations::Apply<Function>;
  return detail::make_node(
      Operation{std::move(function)},
      detail::as_expression<Operation, bool>(std::forward<Operands>(operands))...);
}

/// d2o's apply_scalar_function() (D2O-66): returns a new array of the function's results, with
/// element type U if it is given.
template <class U = void, class T, class Function>
auto apply_scalar_function(const DistArray<T>& array, Function function) {
  using Result = std::conditional_t<std::is_void_v<U>, std::invoke_result_t<Function, const T&>, U>;
  return DistArray<Result>(apply(std::move(function), array));
}
/// Does the same in place: the array keeps its type.
template <class T, class Function>
void apply_scalar_function_in_place(DistArray<T>& array, Function function) {
  array = apply(std::move(function), array);
}

/// Sets the local piece to the result of generator(local shape), a LocalArray of that shape
/// (D2O-66). Local. Throws Error(kShape) if the shape is wrong.
template <class T, class Generator>
void apply_generator(DistArray<T>& array, Generator generator) {
  const auto made = generator(array.local_shape());
  array.set_local(made.view());
}

}  // namespace impishim::darray
