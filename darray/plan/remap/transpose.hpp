// SPDX-License-Identifier: Apache-2.0
/// Transpositions: remaps with permuted axes (ADL-28).
#pragma once

#include <vector>

#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {

/// Returns a plan that makes destination axis k from source axis axes[k]. Empty `axes`: all axes in
/// reverse order. Replaces options.permutation. Throws the errors of RemapPlan.
[[nodiscard]] RemapPlan transpose_plan(const Communicator& communicator,
                                       const RemapSide& destination, const RemapSide& source,
                                       const Element& element, std::vector<int> axes = {},
                                       RemapOptions options = {});

/// Plans and executes one transposition.
void transpose(const Communicator& communicator, const RemapSide& destination,
               void* destination_data, const RemapSide& source, const void* source_data,
               const Element& element, std::vector<int> axes = {}, RemapOptions options = {});

}  // namespace impishim::darray
