#include "darray/plan/operators.hpp"

namespace impishim::darray {

ReduceOperator reduce_operator(Reducer reducer, Scalar scalar) {
  return {operator_kernels(reducer, scalar), element_of(scalar), element_of(accumulator_of(reducer, scalar))};
}

ReduceOperator moments_operator(Scalar scalar) {
  static_assert(sizeof(Moments) == 4 * sizeof(double));
  return {moments_kernels(scalar), element_of(scalar), element_of<double>().times(4)};
}

}  // namespace impishim::darray
