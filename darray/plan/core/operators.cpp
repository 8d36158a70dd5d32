// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/core/operators.hpp"

#include <fmt/format.h>

#include <array>

namespace impishim::darray {
namespace {

// Names in the order of the enumerators of Reducer.
constexpr std::array<std::string_view, 9> kReducers{
    "sum", "product", "minimum", "maximum", "minimum without NaN", "maximum without NaN",
    "any", "all",     "count"};

std::string_view name_of(Reducer reducer) { return kReducers[static_cast<std::size_t>(reducer)]; }

}  // namespace

ReduceOperator reduce_operator(Reducer reducer, Scalar scalar) {
  return {operator_kernels(reducer, scalar), element_of(scalar),
          element_of(accumulator_of(reducer, scalar)),
          fmt::format("{} of {}", name_of(reducer), name_of(scalar))};
}

ReduceOperator moments_operator(Scalar scalar) {
  static_assert(sizeof(Moments) == 4 * sizeof(double));
  return {moments_kernels(scalar), element_of(scalar), element_of<double>().times(4),
          fmt::format("moments of {}", name_of(scalar))};
}

}  // namespace impishim::darray
