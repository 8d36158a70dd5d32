/// What expressions compute from two values. The type is NumPy's; integers wrap around.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

#include "darray/array/core/promote.hpp"

namespace impishim::darray::operations {

// Which scalars take the array's type (WeakScalar) beside it, and which keep their own.
enum class Weak : std::uint8_t {
  kNone,
  kFractions,  ///< floating point beside floating point: a float array equals 0.1 where it has been
               ///< set to it, as NumPy has it; integers are compared as they are
  kAll
};

// Every operation: kKeepsHermitian, whether the result carries the flag when all operands do;
// kWeak.
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

// Integers are computed without sign, where wrapping around is defined.
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

/// True division: of integers in double.
struct Divide : Arithmetic {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Floating<Promoted<A, B>>;
    return element_cast<C>(a) / element_cast<C>(b);
  }
};

namespace detail {

// Python's and NumPy's divmod: the quotient of what the exact remainder leaves is a whole number
// but for rounding, whereas floor(x / y) is one too many where x / y is rounded up to a whole
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

/// Rounded down, so that x is y * floor_divide(x, y) + remainder(x, y); integers by 0 give 0.
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

/// The remainder of FloorDivide: it has the sign of the divisor. Integers by 0 give 0.
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

/// C's: the sign of the dividend.
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

/// Of integers an integer. @throws Error kArgument for an integer to a negative power (as NumPy):
/// of a scalar on every process alike, when the expression is made; of an array where such elements
/// are.
struct Power : Arithmetic {
  /// For a scalar exponent.
  template <class Exponent>
  static void check_right(Exponent exponent) {
    if constexpr (std::is_integral_v<Exponent> && std::is_signed_v<Exponent>) {
      if (exponent < 0) negative_power();
    }
  }
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    if constexpr (!std::is_integral_v<C>) {
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

/// The larger one; a NaN if there is one.
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
    return static_cast<C>(element_cast<C>(a) & element_cast<C>(b));
  }
};

struct BitOr : Bitwise {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    return static_cast<C>(element_cast<C>(a) | element_cast<C>(b));
  }
};

struct BitXor : Bitwise {
  template <class A, class B>
  auto operator()(const A& a, const B& b) const {
    using C = Promoted<A, B>;
    return static_cast<C>(element_cast<C>(a) ^ element_cast<C>(b));
  }
};

/// 0 for shifts by the width or more, as NumPy; a negative shift counts as one of that kind.
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

/// Keeps the sign; shifts by the width or more leave 0 or -1.
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

// Integers of different sign compare by value.
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
