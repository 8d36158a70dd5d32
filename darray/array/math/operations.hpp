// SPDX-License-Identifier: Apache-2.0
/// The operations of expressions on two values. The result type is NumPy's; integers wrap around.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "darray/array/core/promote.hpp"

namespace impishim::darray::operations {

// Selects the scalars that take the array's type (WeakScalar) in an operation, and those that keep
// their own.
enum class Weak : std::uint8_t {
  kNone,
  kFractions,  ///< floating point with floating point: a float array that was set to 0.1 equals
               ///< 0.1, as in NumPy; integers are compared as they are
  kAll
};

// The members of every operation: kKeepsHermitian is true if the result carries the flag when all
// operands do. keeps_hermitian(operands) replaces it where that depends on the operands. kWeak
// selects the treatment of scalars.
struct Arithmetic {
  static constexpr bool kKeepsHermitian = true;
  static constexpr Weak kWeak = Weak::kAll;
};
struct Logic {
  static constexpr bool kKeepsHermitian = false;
  static constexpr Weak kWeak = Weak::kFractions;
};
struct Bitwise {
  static constexpr bool kKeepsHermitian = false;
  static constexpr Weak kWeak = Weak::kAll;
};

namespace detail {

// Computes integers without sign, because unsigned integers wrap around by definition.
template <class C, class Operation>
constexpr C wrapping(C a, C b, Operation operation) {
  if constexpr (std::is_integral_v<C> && !std::is_same_v<C, bool>) {
    using Wide =
        std::conditional_t<(sizeof(C) < sizeof(unsigned)), unsigned, std::make_unsigned_t<C>>;
    return static_cast<C>(operation(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return static_cast<C>(operation(a, b));
  }
}

}  // namespace detail

struct Add : Arithmetic {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    return detail::wrapping(element_cast<C>(a), element_cast<C>(b),
                            [](const auto& x, const auto& y) { return x + y; });
  }
};

struct Subtract : Arithmetic {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    static_assert(!std::is_same_v<C, bool>,
                  "bool arrays have no difference: use ^ (NumPy refuses it, too)");
    return detail::wrapping(element_cast<C>(a), element_cast<C>(b),
                            [](const auto& x, const auto& y) { return x - y; });
  }
};

struct Multiply : Arithmetic {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    return detail::wrapping(element_cast<C>(a), element_cast<C>(b),
                            [](const auto& x, const auto& y) { return x * y; });
  }
};

/// True division: integers are divided in double.
struct Divide : Arithmetic {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Floating<Promoted<A, B>>;
    return element_cast<C>(a) / element_cast<C>(b);
  }
};

namespace detail {

// Python's and NumPy's divmod. Subtracts the exact remainder first, so that the quotient is a whole
// number except for rounding. floor(x / y) would be one too large if x / y is rounded up to a whole
// number.
template <class C>
C floor_quotient(C x, C y) {
  if (y == 0) return x / y;
  const C rest = std::fmod(x, y);
  C quotient = (x - rest) / y;
  if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(C(0), x / y);
  const C down = std::floor(quotient);
  return quotient - down > C(0.5) ? down + 1 : down;
}

}  // namespace detail

/// Rounds the quotient down, so that x is y * floor_divide(x, y) + remainder(x, y). Integers
/// divided by 0 give 0.
struct FloorDivide : Arithmetic {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    static_assert(!kIsComplex<C> && !std::is_same_v<C, bool>, "no floor division of this type");
    const C x = element_cast<C>(a);
    const C y = element_cast<C>(b);
    if constexpr (std::is_floating_point_v<C>) {
      return detail::floor_quotient(x, y);
    } else {
      if (y == 0) return C(0);
      if constexpr (std::is_signed_v<C>) {
        if (y == C(-1)) return detail::wrapping(C(0), x, [](auto p, auto q) { return p - q; });
        return static_cast<C>(x / y - (x % y != 0 && (x % y < 0) != (y < 0) ? 1 : 0));
      } else {
        return static_cast<C>(x / y);
      }
    }
  }
};

/// The remainder of FloorDivide, with the sign of the divisor. Integers divided by 0 give 0.
struct Remainder : Arithmetic {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    static_assert(!kIsComplex<C> && !std::is_same_v<C, bool>, "no remainder of this type");
    const C x = element_cast<C>(a);
    const C y = element_cast<C>(b);
    if constexpr (std::is_floating_point_v<C>) {
      const C rest = std::fmod(x, y);
      if (rest == 0) return std::copysign(C(0), y);
      return (rest < 0) != (y < 0) ? rest + y : rest;
    } else {
      if (y == 0) return C(0);
      if constexpr (std::is_signed_v<C>) {
        if (y == C(-1)) return C(0);
      }
      const C rest = static_cast<C>(x % y);
      return rest != 0 && (rest < 0) != (y < 0) ? static_cast<C>(rest + y) : rest;
    }
  }
};

/// C's fmod, with the sign of the dividend.
struct Fmod : Arithmetic {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    static_assert(!kIsComplex<C> && !std::is_same_v<C, bool>, "no remainder of this type");
    if constexpr (std::is_floating_point_v<C>) {
      return std::fmod(element_cast<C>(a), element_cast<C>(b));
    } else {
      const C y = element_cast<C>(b);
      if (y == 0) return C(0);
      if constexpr (std::is_signed_v<C>) {
        if (y == C(-1)) return C(0);
      }
      return static_cast<C>(element_cast<C>(a) % y);
    }
  }
};

namespace detail {

// Returns true for whole numbers, whose powers are products.
template <class Part>
bool is_whole(Part value) {
  return std::abs(value) < Part(std::uint64_t{1} << 63) && value == std::trunc(value);
}

// The complex power, as NumPy: a whole exponent gives a product, without the rounding of a
// logarithm; and zero has powers. (C's cpow gives NaN for zero, and -1 squared is not real there.)
template <class C>
C complex_power(const C& base, const C& exponent) {
  using Part = typename C::value_type;
  const Part real = exponent.real();
  if (base == C(0) && exponent != C(0)) {
    constexpr Part kNan = std::numeric_limits<Part>::quiet_NaN();
    return real > 0 ? C(0) : C(kNan, kNan);
  }
  if (exponent.imag() != 0 || !is_whole(real)) return std::pow(base, exponent);
  C result(1);
  C square = base;
  for (auto left = static_cast<std::uint64_t>(std::abs(real)); left > 0; left /= 2) {
    if (left % 2 != 0) result *= square;
    if (left > 1) square *= square;
  }
  return real < 0 ? C(1) / result : result;
}

// Returns true if a condition holds for the value of a scalar operand. False for arrays.
template <class Operand, class Condition>
bool is_scalar_with(const Operand& operand, Condition condition) {
  if constexpr (requires { operand.value; }) return condition(operand.value);
  return false;
}

}  // namespace detail

/// The power; integers give integers. Throws Error(kArgument) for an integer to a negative power
/// (as NumPy). For a scalar exponent, every process throws it when the expression is made. For an
/// array exponent, the processes that have such elements throw it.
struct Power : Arithmetic {
  /// Checks a scalar exponent.
  template <class Exponent>
  static void check_right(Exponent exponent) {
    if constexpr (std::is_integral_v<Exponent> && std::is_signed_v<Exponent>) {
      if (exponent < 0) negative_power();
    }
  }
  /// Returns true if two operands that carry the flag give a result that carries it. Complex
  /// numbers do so for a whole exponent or a positive base only: otherwise the power of a negative
  /// number is not real.
  template <class Base, class Exponent>
  static bool keeps_hermitian(const Base& base, const Exponent& exponent) {
    if constexpr (!kIsComplex<Promoted<typename Base::Value, typename Exponent::Value>> ||
                  std::is_integral_v<typename Exponent::Value>) {
      return true;
    } else {
      return detail::is_scalar_with(base, [](auto x) { return std::real(x) > 0; }) ||
             detail::is_scalar_with(exponent, [](auto x) {
               return std::imag(x) == 0 && detail::is_whole(std::real(x));
             });
    }
  }
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    if constexpr (kIsComplex<C>) {
      return detail::complex_power(element_cast<C>(a), element_cast<C>(b));
    } else if constexpr (!std::is_integral_v<C>) {
      return std::pow(element_cast<C>(a), element_cast<C>(b));
    } else {
      C base = element_cast<C>(a);
      C left = element_cast<C>(b);
      if (left < C(0)) negative_power();
      C result = 1;
      const auto times = [](C x, C y) {
        return detail::wrapping(x, y, [](auto p, auto q) { return p * q; });
      };
      for (; left != C(0); left = static_cast<C>(left / 2), base = times(base, base)) {
        if (left % 2 != 0) result = times(result, base);
      }
      return result;
    }
  }

 private:
  [[noreturn]] static void negative_power() {
    fail(ErrorKind::kArgument, "an integer to a negative power is no integer: use floating point");
  }
};

struct Arctan2 : Arithmetic {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Floating<Promoted<A, B>>;
    return std::atan2(element_cast<C>(a), element_cast<C>(b));
  }
};

struct Hypot : Arithmetic {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Floating<Promoted<A, B>>;
    return std::hypot(element_cast<C>(a), element_cast<C>(b));
  }
};

/// The larger value, or NaN if one value is NaN.
struct Maximum : Arithmetic {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    const C x = element_cast<C>(a);
    const C y = element_cast<C>(b);
    return x >= y || x != x ? x : y;
  }
};

struct Minimum : Arithmetic {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    const C x = element_cast<C>(a);
    const C y = element_cast<C>(b);
    return x <= y || x != x ? x : y;
  }
};

struct BitAnd : Bitwise {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    // The plus makes numbers of truth values, which clang warns about otherwise.
    return static_cast<C>(+element_cast<C>(a) & +element_cast<C>(b));
  }
};

struct BitOr : Bitwise {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    // The plus makes numbers of truth values, which clang warns about otherwise.
    return static_cast<C>(+element_cast<C>(a) | +element_cast<C>(b));
  }
};

struct BitXor : Bitwise {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    return static_cast<C>(element_cast<C>(a) ^ element_cast<C>(b));
  }
};

/// Shifts by the width or more give 0, as in NumPy. A negative shift has the same result.
struct ShiftLeft : Bitwise {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    static_assert(std::is_integral_v<C>, "only integers are shifted");
    using Unsigned =
        std::make_unsigned_t<std::conditional_t<std::is_same_v<C, bool>, std::uint8_t, C>>;
    const auto by = static_cast<std::uint64_t>(b);
    return static_cast<C>(
        by >= 8 * sizeof(C) ? Unsigned(0) : static_cast<Unsigned>(static_cast<Unsigned>(a) << by));
  }
};

/// Keeps the sign. Shifts by the width or more give 0 or -1.
struct ShiftRight : Bitwise {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    static_assert(std::is_integral_v<C>, "only integers are shifted");
    const auto by = static_cast<std::uint64_t>(b);
    const C value = element_cast<C>(a);
    return static_cast<C>(by >= 8 * sizeof(C) ? (value < C(0) ? C(-1) : C(0))
                                              : static_cast<C>(value >> by));
  }
};

namespace detail {

// Returns true for integers, which are compared by value even if their signedness differs.
template <class A, class B>
constexpr bool plain_integers() {
  return std::is_integral_v<A> && std::is_integral_v<B> && !std::is_same_v<A, bool> &&
         !std::is_same_v<B, bool>;
}

}  // namespace detail

struct Equal : Logic {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    if constexpr (detail::plain_integers<A, B>()) {
      return std::cmp_equal(a, b);
    } else {
      return element_cast<Promoted<A, B>>(a) == element_cast<Promoted<A, B>>(b);
    }
  }
};

struct NotEqual : Logic {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return !Equal()(a, b);
  }
};

struct Less : Logic {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    static_assert(!kIsComplex<A> && !kIsComplex<B>, "complex numbers have no order");
    if constexpr (detail::plain_integers<A, B>()) {
      return std::cmp_less(a, b);
    } else {
      return element_cast<Promoted<A, B>>(a) < element_cast<Promoted<A, B>>(b);
    }
  }
};

struct LessEqual : Logic {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return Less()(a, b) || Equal()(a, b);
  }
};

struct Greater : Logic {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return Less()(b, a);
  }
};

struct GreaterEqual : Logic {
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return LessEqual()(b, a);
  }
};

}  // namespace impishim::darray::operations
