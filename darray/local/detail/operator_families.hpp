// SPDX-License-Identifier: Apache-2.0
// The library's operators by family, with one translation unit for each, since they have many
// instances. Not for users.
#pragma once

#include <cstring>

#include "darray/base/error.hpp"
#include "darray/local/operator_kernels.hpp"

namespace impishim::darray {

OperatorKernels arithmetic_kernels(Reducer reducer, Scalar scalar);
OperatorKernels order_kernels(Reducer reducer, Scalar scalar);
OperatorKernels logic_kernels(Reducer reducer, Scalar scalar);

/// Calls f(std::type_identity<T>()) for the type of a scalar. Errors: kType for kOpaque.
template <class F>
auto with_scalar(Scalar scalar, F f) {
  switch (scalar) {
    case Scalar::kBool:
      return f(std::type_identity<bool>());
    case Scalar::kInt8:
      return f(std::type_identity<std::int8_t>());
    case Scalar::kInt16:
      return f(std::type_identity<std::int16_t>());
    case Scalar::kInt32:
      return f(std::type_identity<std::int32_t>());
    case Scalar::kInt64:
      return f(std::type_identity<std::int64_t>());
    case Scalar::kUint8:
      return f(std::type_identity<std::uint8_t>());
    case Scalar::kUint16:
      return f(std::type_identity<std::uint16_t>());
    case Scalar::kUint32:
      return f(std::type_identity<std::uint32_t>());
    case Scalar::kUint64:
      return f(std::type_identity<std::uint64_t>());
    case Scalar::kFloat:
      return f(std::type_identity<float>());
    case Scalar::kDouble:
      return f(std::type_identity<double>());
    case Scalar::kLongDouble:
      return f(std::type_identity<long double>());
    case Scalar::kComplexFloat:
      return f(std::type_identity<std::complex<float>>());
    case Scalar::kComplexDouble:
      return f(std::type_identity<std::complex<double>>());
    case Scalar::kOpaque:
      break;
  }
  fail(ErrorKind::kType, "opaque elements have no operators but a user's");
}

}  // namespace impishim::darray
