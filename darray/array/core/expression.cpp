// SPDX-License-Identifier: Apache-2.0
#include "darray/array/core/expression.hpp"

#include <fmt/ranges.h>

#include "darray/schedule/reduce_schedule.hpp"

namespace impishim::darray::detail {

bool meets_in_place(const Layout& target, const Layout& other) {
  if (target.context() != other.context())
    fail(ErrorKind::kLayout, "arrays of different communicators do not meet");
  if (target.shape() == other.shape()) return target.aligned(other);
  const auto call = [&] {
    return CollectiveCall("expression")
        .with("target", target.distribution())
        .with("operand", other.distribution());
  };
  agree_on(target.communicator(), Checks::kOn, call);
  const bool fits =
      target.owned_shape() == other.owned_shape() && target.owned_size() == other.owned_size();
  if (!all_reduce(target.communicator(), fits, Combine::kMin)) {
    fail(ErrorKind::kShape,
         "arrays of shapes ({}) and ({}) do not meet, and not all of their local shapes are equal",
         fmt::join(target.shape(), ", "), fmt::join(other.shape(), ", "));
  }
  return true;
}

}  // namespace impishim::darray::detail
