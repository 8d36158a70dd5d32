/// Transpositions: remaps with permuted axes (ADL-28).
#pragma once

#include <vector>

#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {

/// A plan after which destination axis k is source axis axes[k]; none given: all axes in reverse
/// order. What options.permutation holds is replaced. Errors: as RemapPlan.
[[nodiscard]] RemapPlan transpose_plan(const Communicator& communicator,
                                       const RemapSide& destination, const RemapSide& source,
                                       const Element& element, std::vector<int> axes = {},
                                       RemapOptions options = {});

/// The one-shot form.
void transpose(const Communicator& communicator, const RemapSide& destination,
               void* destination_data, const RemapSide& source, const void* source_data,
               const Element& element, std::vector<int> axes = {}, RemapOptions options = {});

}  // namespace impishim::darray
