// SPDX-License-Identifier: Apache-2.0
/// Pictures of fields, for the examples.
#pragma once

#include <span>
#include <string>

#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// Writes a square field as a PNG, one pixel for each cell: dark for 0, then red and yellow, and
/// white for `hottest`.
/// @param values cells * cells values, row-major.
/// @throws std::runtime_error when the file cannot be written.
void write_heat_map(const std::string& file, std::span<const double> values, Index cells,
                    double hottest);

}  // namespace impishim::darray
