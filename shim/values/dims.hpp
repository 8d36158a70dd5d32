// SPDX-License-Identifier: Apache-2.0
/// MPI_Dims_create as arithmetic: all systems of a job must get the same grid, whichever MPI
/// library each uses.
#pragma once

#include <cstdint>
#include <span>

#include "wire/base/result.hpp"

namespace impishim::shim {

/// Sets the dimensions that are 0 so that the product of all is `nodes`. The new dimensions do not
/// increase, and are as close to each other as possible. The largest is as small as it can be, then
/// the next one. MPI-3.1 7.5.2. Errors: kConfiguration if `nodes` is not positive, a dimension is
/// negative, or the given ones do not divide `nodes`; nothing is set then.
[[nodiscard]] Result<void> choose_dims(std::int32_t nodes, std::span<std::int32_t> dims);

}  // namespace impishim::shim
