// SPDX-License-Identifier: Apache-2.0
#include "darray/local/combine.hpp"

#include <algorithm>
#include <array>

#include "darray/local/wrapping.hpp"

namespace impishim::darray {
namespace {

constexpr std::array<std::string_view, 8> kOperations = {"replace", "sum", "product", "min",
                                                         "max",     "and", "or",      "xor"};
constexpr std::array<std::string_view, 15> kScalars = {
    "opaque", "bool",   "int8",        "int16",          "int32",
    "int64",  "uint8",  "uint16",      "uint32",         "uint64",
    "float",  "double", "long double", "complex<float>", "complex<double>"};

template <Combine kOperation, class T>
T combined(T there, T arrived) {
  if constexpr (kOperation == Combine::kSum) return wrapping_sum(there, arrived);
  if constexpr (kOperation == Combine::kProduct) return wrapping_product(there, arrived);
  if constexpr (kOperation == Combine::kMin) return std::min(there, arrived);
  if constexpr (kOperation == Combine::kMax) return std::max(there, arrived);
  if constexpr (kOperation == Combine::kAnd) return static_cast<T>(there & arrived);
  if constexpr (kOperation == Combine::kOr) return static_cast<T>(there | arrived);
  if constexpr (kOperation == Combine::kXor) return static_cast<T>(there ^ arrived);
}

template <Combine kOperation, class T>
void combine_all(std::byte* into, const std::byte* from, Index count) {
  T* __restrict target = reinterpret_cast<T*>(into);
  const T* __restrict source = reinterpret_cast<const T*>(from);
  for (Index k = 0; k < count; ++k) target[k] = combined<kOperation, T>(target[k], source[k]);
}

template <class T>
constexpr bool is_complex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class T>
CombineFunction function_of(Combine operation) {
  switch (operation) {
    case Combine::kSum:
      return combine_all<Combine::kSum, T>;
    case Combine::kProduct:
      return combine_all<Combine::kProduct, T>;
    case Combine::kMin:
      if constexpr (!is_complex<T>) return combine_all<Combine::kMin, T>;
      break;
    case Combine::kMax:
      if constexpr (!is_complex<T>) return combine_all<Combine::kMax, T>;
      break;
    case Combine::kAnd:
      if constexpr (std::is_integral_v<T>) return combine_all<Combine::kAnd, T>;
      break;
    case Combine::kOr:
      if constexpr (std::is_integral_v<T>) return combine_all<Combine::kOr, T>;
      break;
    case Combine::kXor:
      if constexpr (std::is_integral_v<T>) return combine_all<Combine::kXor, T>;
      break;
    case Combine::kReplace:
      break;
  }
  return {};
}

CombineFunction function_of(Combine operation, Scalar scalar) {
  switch (scalar) {
    case Scalar::kBool:
      return function_of<bool>(operation);
    case Scalar::kInt8:
      return function_of<std::int8_t>(operation);
    case Scalar::kInt16:
      return function_of<std::int16_t>(operation);
    case Scalar::kInt32:
      return function_of<std::int32_t>(operation);
    case Scalar::kInt64:
      return function_of<std::int64_t>(operation);
    case Scalar::kUint8:
      return function_of<std::uint8_t>(operation);
    case Scalar::kUint16:
      return function_of<std::uint16_t>(operation);
    case Scalar::kUint32:
      return function_of<std::uint32_t>(operation);
    case Scalar::kUint64:
      return function_of<std::uint64_t>(operation);
    case Scalar::kFloat:
      return function_of<float>(operation);
    case Scalar::kDouble:
      return function_of<double>(operation);
    case Scalar::kLongDouble:
      return function_of<long double>(operation);
    case Scalar::kComplexFloat:
      return function_of<std::complex<float>>(operation);
    case Scalar::kComplexDouble:
      return function_of<std::complex<double>>(operation);
    case Scalar::kOpaque:
      break;
  }
  return {};
}

}  // namespace

std::string_view name_of(Combine operation) {
  return kOperations[static_cast<std::size_t>(operation)];
}
std::string_view name_of(Scalar scalar) { return kScalars[static_cast<std::size_t>(scalar)]; }

std::size_t size_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::kBool:
    case Scalar::kInt8:
    case Scalar::kUint8:
      return 1;
    case Scalar::kInt16:
    case Scalar::kUint16:
      return 2;
    case Scalar::kInt32:
    case Scalar::kUint32:
    case Scalar::kFloat:
      return 4;
    case Scalar::kLongDouble:
    case Scalar::kComplexDouble:
      return 16;
    default:
      return 8;
  }
}
static_assert(sizeof(bool) == 1 && sizeof(long double) == 16);

CombineFunction combine_function(Combine operation, Scalar scalar) {
  if (operation == Combine::kReplace) return {};
  CombineFunction function = function_of(operation, scalar);
  if (!function)
    fail(ErrorKind::kType, "elements of type {} have no operator {}", name_of(scalar),
         name_of(operation));
  return function;
}

}  // namespace impishim::darray
