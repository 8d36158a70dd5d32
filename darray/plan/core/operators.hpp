// Operators of reductions and scans, with the types that their elements and results travel as.
#pragma once

#include <optional>
#include <string>

#include "darray/local/operator_kernels.hpp"
#include "darray/schedule/element.hpp"

namespace impishim::darray {

/// An operator on elements of one type. Accumulators may be of another type than elements: integers
/// and bool are summed in 64 bits.
struct ReduceOperator : OperatorKernels {
  Element source;         // elements
  Element accumulator;    // and what comes out
  std::string name = {};  // for messages: "sum of double"
};

/// Errors: kType when the type has no such operator.
ReduceOperator reduce_operator(Reducer reducer, Scalar scalar);

/// A user's operator on scalars or any trivially copyable type (which is sent as bytes):
/// `operation(a, b)` gives a T for two T; it should be associative. It is called in a fixed order.
/// Without an identity, masks and arrays without elements are errors.
template <class T, class Operation>
ReduceOperator reduce_operator(Operation operation, std::optional<T> identity = {}) {
  static_assert(std::is_trivially_copyable_v<T>);
  Element element = opaque(sizeof(T));
  if constexpr (scalar_of<T>() != Scalar::kOpaque) element = element_of<T>();
  return {detail::make_kernels(detail::UserPolicy<T, Operation>{operation, identity}), element,
          element, "a user's operator"};
}

/// Its accumulators are Moments. Errors: kType for opaque elements.
ReduceOperator moments_operator(Scalar scalar);

}  // namespace impishim::darray
