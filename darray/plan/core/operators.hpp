// SPDX-License-Identifier: Apache-2.0
/// Operators of reductions and scans, with the types of the elements and results in messages.
#pragma once

#include <optional>
#include <string>

#include "darray/communicator/element.hpp"
#include "darray/local/operator_kernels.hpp"

namespace impishim::darray {

/// An operator on elements of one type. Accumulators may have another type than elements: integers
/// and bool are summed in 64 bits.
struct ReduceOperator : OperatorKernels {
  Element source;         // type of the elements
  Element accumulator;    // type of the result
  std::string name = {};  // for error messages: "sum of double"
};

/// Returns the operator for elements of this type. Throws Error(kType) if the type has no such
/// operator.
ReduceOperator reduce_operator(Reducer reducer, Scalar scalar);

/// Returns a user's operator on scalars or on any trivially copyable type (which is sent as bytes).
/// `operation(a, b)` returns a T for two T and should be associative. It is called in a fixed
/// order. Without an identity, masks and arrays without elements are errors.
template <class T, class Operation>
ReduceOperator reduce_operator(Operation operation, std::optional<T> identity = {}) {
  static_assert(std::is_trivially_copyable_v<T>);
  Element element = opaque(sizeof(T));
  if constexpr (scalar_of<T>() != Scalar::kOpaque) element = element_of<T>();
  return {detail::make_kernels(detail::UserPolicy<T, Operation>{operation, identity}), element,
          element, "a user's operator"};
}

/// Returns the operator whose accumulators are Moments. Throws Error(kType) if the elements are
/// opaque.
ReduceOperator moments_operator(Scalar scalar);

}  // namespace impishim::darray
