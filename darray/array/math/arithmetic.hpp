// SPDX-License-Identifier: Apache-2.0
/// Operators between arrays, expressions, scalars and global data (D2O-60, D2O-63), and binary
/// functions (DIS-06).
#pragma once

#include <cstddef>
#include <optional>

#include "darray/array/core/expression.hpp"
#include "darray/array/math/operations.hpp"

namespace impishim::darray {

template <class T>
struct IsArray : std::false_type {};
template <class T>
struct IsArray<DistArray<T>> : std::true_type {};
template <class T>
struct IsView : std::false_type {};
template <class T>
struct IsView<StridedView<T>> : std::true_type {};

/// An array, or an expression with one.
template <class E>
concept ArrayLike = IsArray<std::remove_cvref_t<E>>::value || ArrayExpression<E>;
/// An operand of an operation with an array. A view is data of the whole array's shape that every
/// process has.
template <class E>
concept Operand =
    ArrayLike<E> || ElementValue<std::remove_cvref_t<E>> || IsView<std::remove_cvref_t<E>>::value;
template <class A, class B>
concept OperandPair = Operand<A> && Operand<B> &&(ArrayLike<A> || ArrayLike<B>);

namespace detail {

template <class E>
struct ValueOf {
  using Type = E;  // a scalar
};
template <class E>
requires requires { typename E::Value; }
struct ValueOf<E> {
  using Type = typename E::Value;
};

/// True if a scalar S takes the type of an array of T.
template <operations::Weak weak, class T, class S>
inline constexpr bool kTakesType = weak == operations::Weak::kAll ||
                                   (weak == operations::Weak::kFractions &&
                                    !std::is_integral_v<T> && !std::is_integral_v<S>);

/// Returns an operand as an expression. `Other` is the type of the values on the other side, for
/// scalars.
template <class Operation, class Other, Operand E>
auto as_expression(E&& operand) {
  using Plain = std::remove_cvref_t<E>;
  if constexpr (ArrayExpression<E>) {
    return Plain(std::forward<E>(operand));
  } else if constexpr (IsArray<Plain>::value) {
    return ArrayOperand<typename Plain::Value>(std::forward<E>(operand));
  } else if constexpr (IsView<Plain>::value) {
    return GlobalOperand<std::remove_cvref_t<decltype(*operand.data())>>(operand);
  } else if constexpr (kTakesType<Operation::kWeak, Other, Plain>) {
    return ScalarOperand<WeakScalar<Other, Plain>>(weak_cast<Other>(operand));
  } else {
    return ScalarOperand<Plain>(operand);
  }
}

template <class Operation, class... Operands>
auto make_node(Operation operation, Operands... operands) {
  return Node<Operation, Operands...>(std::move(operation), std::move(operands)...);
}

/// Rejects an invalid scalar on the right side before the evaluation, because a process without
/// elements would not find the error.
template <class Operation, class T, class B>
void check_right(const B& operand) {
  if constexpr (ElementValue<B> && std::is_integral_v<T> &&
                requires { Operation::check_right(operand); }) {
    Operation::check_right(operand);
  }
}

template <class Operation, class A, class B>
auto binary(A&& a, B&& b) {
  using ValueA = typename ValueOf<std::remove_cvref_t<A>>::Type;
  using ValueB = typename ValueOf<std::remove_cvref_t<B>>::Type;
  check_right<Operation, ValueA>(b);
  return make_node(Operation(), as_expression<Operation, ValueB>(std::forward<A>(a)),
                   as_expression<Operation, ValueA>(std::forward<B>(b)));
}

template <class Operation, class T, class B>
DistArray<T>& in_place(DistArray<T>& array, B&& operand) {
  check_right<Operation, T>(operand);
  update<Operation>(array, as_expression<Operation, T>(std::forward<B>(operand)));
  return array;
}

}  // namespace detail

#define DARRAY_BINARY(name, Operation)                                                    \
  template <class A, class B>                                                             \
  requires OperandPair<A, B>                                                              \
  auto name(A&& a, B&& b) {                                                               \
    return detail::binary<operations::Operation>(std::forward<A>(a), std::forward<B>(b)); \
  }
#define DARRAY_IN_PLACE(name, Operation)                                             \
  template <class T, Operand B>                                                      \
  DistArray<T>& name(DistArray<T>& array, B&& operand) {                             \
    return detail::in_place<operations::Operation>(array, std::forward<B>(operand)); \
  }

// Results are expressions. / is the true division: integers are divided in double. % has the sign
// of the divisor.
DARRAY_BINARY(operator+, Add)
DARRAY_BINARY(operator-, Subtract)
DARRAY_BINARY(operator*, Multiply)
DARRAY_BINARY(operator/, Divide)
DARRAY_BINARY(operator%, Remainder)
DARRAY_BINARY(operator&, BitAnd)
DARRAY_BINARY(operator|, BitOr)
DARRAY_BINARY(operator^, BitXor)
DARRAY_BINARY(operator<<, ShiftLeft)
DARRAY_BINARY(operator>>, ShiftRight)
DARRAY_BINARY(operator==, Equal)
DARRAY_BINARY(operator!=, NotEqual)
DARRAY_BINARY(operator<, Less)
DARRAY_BINARY(operator<=, LessEqual)
DARRAY_BINARY(operator>, Greater)
DARRAY_BINARY(operator>=, GreaterEqual)
DARRAY_BINARY(floor_divide, FloorDivide)
DARRAY_BINARY(remainder, Remainder)
DARRAY_BINARY(fmod, Fmod)
DARRAY_BINARY(pow, Power)
DARRAY_BINARY(arctan2, Arctan2)
DARRAY_BINARY(hypot, Hypot)
DARRAY_BINARY(maximum, Maximum)
DARRAY_BINARY(minimum, Minimum)

// In-place operators: the array keeps its type and its layout.
DARRAY_IN_PLACE(operator+=, Add)
DARRAY_IN_PLACE(operator-=, Subtract)
DARRAY_IN_PLACE(operator*=, Multiply)
DARRAY_IN_PLACE(operator/=, Divide)
DARRAY_IN_PLACE(operator%=, Remainder)
DARRAY_IN_PLACE(operator&=, BitAnd)
DARRAY_IN_PLACE(operator|=, BitOr)
DARRAY_IN_PLACE(operator^=, BitXor)
DARRAY_IN_PLACE(operator<<=, ShiftLeft)
DARRAY_IN_PLACE(operator>>=, ShiftRight)
DARRAY_IN_PLACE(floor_divide_in_place, FloorDivide)
DARRAY_IN_PLACE(pow_in_place, Power)

#undef DARRAY_BINARY
#undef DARRAY_IN_PLACE

/// Returns false: no array equals nothing (d2o's comparison with None).
template <class T>
bool operator==(const DistArray<T>&, std::nullopt_t) {
  return false;
}

}  // namespace impishim::darray
