// SPDX-License-Identifier: Apache-2.0
#include "wire/window/element_operation.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace impishim::wire {
namespace {

/// A value and its location, as MPI's pair types lie in memory.
template <class Value, class Location>
struct Pair {
  Value value;
  Location location;
};

/// Marks types of which no operation but replacing is defined.
template <std::size_t kSize>
struct Opaque {
  std::byte bytes[kSize];
};

/// Fortran's logical values of an integer type. False is zero (as gfortran has it).
template <class Integer>
struct Logical {
  Integer value;
};

template <class Type>
constexpr bool kIsComplex = false;
template <class Part>
constexpr bool kIsComplex<std::complex<Part>> = true;
template <class Type>
constexpr bool kIsPair = false;
template <class Value, class Location>
constexpr bool kIsPair<Pair<Value, Location>> = true;
template <class Type>
constexpr bool kIsLogical = std::is_same_v<Type, bool>;
template <class Integer>
constexpr bool kIsLogical<Logical<Integer>> = true;
template <class Type>
constexpr bool kIsInteger = std::is_integral_v<Type> && !std::is_same_v<Type, bool>;

/// Returns true if MPI defines the operation for the type (MPI-4.0 6.9.2).
template <ElementOperation operation, class Type>
constexpr bool defined() {
  using enum ElementOperation;
  if constexpr (operation == kReplace || operation == kNoOperation) {
    return true;
  } else if constexpr (operation == kSum || operation == kProduct) {
    return kIsInteger<Type> || std::is_floating_point_v<Type> || kIsComplex<Type>;
  } else if constexpr (operation == kMaximum || operation == kMinimum) {
    return kIsInteger<Type> || std::is_floating_point_v<Type>;
  } else if constexpr (operation == kLogicalAnd || operation == kLogicalOr ||
                       operation == kLogicalXor) {
    return kIsInteger<Type> || kIsLogical<Type>;
  } else if constexpr (operation == kBitAnd || operation == kBitOr || operation == kBitXor) {
    return kIsInteger<Type> || std::is_same_v<Type, Opaque<1>>;
  } else {
    return kIsPair<Type>;
  }
}

template <class Type>
bool truth(const Type& value) {
  if constexpr (kIsLogical<Type> && !std::is_same_v<Type, bool>) {
    return value.value != 0;
  } else {
    return value != Type{};
  }
}

template <class Type>
Type from_truth(bool value) {
  if constexpr (kIsLogical<Type> && !std::is_same_v<Type, bool>) {
    return {static_cast<decltype(Type::value)>(value)};
  } else {
    return static_cast<Type>(value);
  }
}

/// Adds or multiplies integers without overflow that C++ leaves undefined: the result is modulo
/// 2^n.
template <ElementOperation operation, class Type>
Type arithmetic(const Type& left, const Type& right) {
  constexpr bool kAdds = operation == ElementOperation::kSum;
  if constexpr (std::is_integral_v<Type>) {
    // Narrow types are promoted to int, and the product of two uint16_t overflows that.
    using Wide =
        std::conditional_t<(sizeof(Type) < sizeof(unsigned)), unsigned, std::make_unsigned_t<Type>>;
    const Wide a = static_cast<Wide>(left);
    const Wide b = static_cast<Wide>(right);
    return static_cast<Type>(kAdds ? a + b : a * b);
  } else {
    return kAdds ? left + right : left * right;
  }
}

/// Combines values and locations. Of equal values, the lower location counts.
template <ElementOperation operation, class Type>
Type located(const Type& left, const Type& right) {
  const bool maximum = operation == ElementOperation::kMaximumLocation;
  if (left.value == right.value) return {left.value, std::min(left.location, right.location)};
  return (left.value > right.value) == maximum ? left : right;
}

template <ElementOperation operation, class Type>
Type combined(const Type& left, const Type& right) {
  using enum ElementOperation;
  if constexpr (operation == kSum || operation == kProduct) {
    return arithmetic<operation>(left, right);
  } else if constexpr (operation == kMaximum) {
    return std::max(left, right);
  } else if constexpr (operation == kMinimum) {
    return std::min(left, right);
  } else if constexpr (operation == kLogicalAnd) {
    return from_truth<Type>(truth(left) && truth(right));
  } else if constexpr (operation == kLogicalOr) {
    return from_truth<Type>(truth(left) || truth(right));
  } else if constexpr (operation == kLogicalXor) {
    return from_truth<Type>(truth(left) != truth(right));
  } else if constexpr (std::is_same_v<Type, Opaque<1>>) {
    const std::byte a = left.bytes[0];
    const std::byte b = right.bytes[0];
    return {operation == kBitAnd ? a & b : operation == kBitOr ? a | b : a ^ b};
  } else if constexpr (operation == kBitAnd) {
    return static_cast<Type>(left & right);
  } else if constexpr (operation == kBitOr) {
    return static_cast<Type>(left | right);
  } else if constexpr (operation == kBitXor) {
    return static_cast<Type>(left ^ right);
  } else {
    return located<operation>(left, right);
  }
}

/// Reads an element, or writes it, without the gaps of a pair: they are no part of the element, and
/// the last one may lie behind the window.
template <class Type>
Type load(const std::byte* from) {
  Type value;
  if constexpr (kIsPair<Type>) {
    std::memcpy(&value.value, from + offsetof(Type, value), sizeof(value.value));
    std::memcpy(&value.location, from + offsetof(Type, location), sizeof(value.location));
  } else {
    std::memcpy(static_cast<void*>(&value), from, sizeof(Type));
  }
  return value;
}

template <class Type>
void store(const Type& value, std::byte* to) {
  if constexpr (kIsPair<Type>) {
    std::memcpy(to + offsetof(Type, value), &value.value, sizeof(value.value));
    std::memcpy(to + offsetof(Type, location), &value.location, sizeof(value.location));
  } else {
    std::memcpy(to, static_cast<const void*>(&value), sizeof(Type));
  }
}

template <ElementOperation operation, class Type>
void combine(const std::byte* operand, std::byte* target, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i, operand += sizeof(Type), target += sizeof(Type))
    store(combined<operation>(load<Type>(target), load<Type>(operand)), target);
}

template <class Type>
void replace(const std::byte* operand, std::byte* target, std::uint64_t count) {
  if constexpr (kIsPair<Type>) {
    for (std::uint64_t i = 0; i < count; ++i, operand += sizeof(Type), target += sizeof(Type))
      store(load<Type>(operand), target);
  } else {
    if (count > 0) std::memcpy(target, operand, count * sizeof(Type));
  }
}

void leave(const std::byte* /*operand*/, std::byte* /*target*/, std::uint64_t /*count*/) {}

template <ElementOperation operation, class Type>
constexpr ElementFunction function_for() {
  if constexpr (!defined<operation, Type>()) {
    return nullptr;
  } else if constexpr (operation == ElementOperation::kReplace) {
    return replace<Type>;
  } else if constexpr (operation == ElementOperation::kNoOperation) {
    return leave;
  } else {
    return combine<operation, Type>;
  }
}

template <class Type>
ElementFunction function_of(ElementOperation operation) {
  using enum ElementOperation;
  switch (operation) {
    case kReplace:
      return function_for<kReplace, Type>();
    case kNoOperation:
      return function_for<kNoOperation, Type>();
    case kSum:
      return function_for<kSum, Type>();
    case kProduct:
      return function_for<kProduct, Type>();
    case kMaximum:
      return function_for<kMaximum, Type>();
    case kMinimum:
      return function_for<kMinimum, Type>();
    case kLogicalAnd:
      return function_for<kLogicalAnd, Type>();
    case kLogicalOr:
      return function_for<kLogicalOr, Type>();
    case kLogicalXor:
      return function_for<kLogicalXor, Type>();
    case kBitAnd:
      return function_for<kBitAnd, Type>();
    case kBitOr:
      return function_for<kBitOr, Type>();
    case kBitXor:
      return function_for<kBitXor, Type>();
    case kMaximumLocation:
      return function_for<kMaximumLocation, Type>();
    case kMinimumLocation:
      return function_for<kMinimumLocation, Type>();
    default:
      return nullptr;
  }
}

/// Calls `visit` with a value of the C++ type of a kind, which only its type matters of. Returns
/// what it returns, or `otherwise` for a number that is no kind.
template <class Visit, class Value>
Value with_type(ElementKind kind, const Visit& visit, Value otherwise) {
  using enum ElementKind;
  switch (kind) {
    case kByte:
      return visit(Opaque<1>{});
    case kInt8:
      return visit(std::int8_t{});
    case kUint8:
      return visit(std::uint8_t{});
    case kInt16:
      return visit(std::int16_t{});
    case kUint16:
      return visit(std::uint16_t{});
    case kInt32:
      return visit(std::int32_t{});
    case kUint32:
      return visit(std::uint32_t{});
    case kInt64:
      return visit(std::int64_t{});
    case kUint64:
      return visit(std::uint64_t{});
    case kLong:
      return visit(long{});
    case kUnsignedLong:
      return visit(0UL);
    case kFloat:
      return visit(float{});
    case kDouble:
      return visit(double{});
    case kLongDouble:
      return visit(0.0L);
    case kFloatComplex:
      return visit(std::complex<float>{});
    case kDoubleComplex:
      return visit(std::complex<double>{});
    case kLongDoubleComplex:
      return visit(std::complex<long double>{});
    case kBool:
      return visit(bool{});
    case kLogical8:
      return visit(Logical<std::int8_t>{});
    case kLogical16:
      return visit(Logical<std::int16_t>{});
    case kLogical32:
      return visit(Logical<std::int32_t>{});
    case kLogical64:
      return visit(Logical<std::int64_t>{});
    case kFloatInt:
      return visit(Pair<float, int>{});
    case kDoubleInt:
      return visit(Pair<double, int>{});
    case kLongInt:
      return visit(Pair<long, int>{});
    case kTwoInt:
      return visit(Pair<int, int>{});
    case kShortInt:
      return visit(Pair<short, int>{});
    case kLongDoubleInt:
      return visit(Pair<long double, int>{});
    case kTwoFloat:
      return visit(Pair<float, float>{});
    case kTwoDouble:
      return visit(Pair<double, double>{});
    case kCharacter:
      return visit(Opaque<1U>{});
    case kWideCharacter:
      return visit(Opaque<sizeof(wchar_t)>{});
    default:
      return otherwise;
  }
}

}  // namespace

std::size_t element_bytes(ElementKind kind) {
  return with_type(
      kind, []<class Type>(const Type&) { return sizeof(Type); }, std::size_t{0});
}

ElementFunction element_function(ElementOperation operation, ElementKind kind) {
  // A character has the size of a byte, but not its operations.
  const bool moves =
      operation == ElementOperation::kReplace || operation == ElementOperation::kNoOperation;
  if (kind == ElementKind::kCharacter && !moves) return nullptr;
  return with_type(
      kind, [operation]<class Type>(const Type&) { return function_of<Type>(operation); },
      ElementFunction{nullptr});
}

bool may_compare(ElementKind kind) {
  if (kind == ElementKind::kByte) return true;
  return with_type(
      kind, []<class Type>(const Type&) { return kIsInteger<Type> || kIsLogical<Type>; }, false);
}

}  // namespace impishim::wire
