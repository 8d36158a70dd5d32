// SPDX-License-Identifier: Apache-2.0
/// Planning of remaps that need not cover the destination. Not for users.
#pragma once

#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {

/// Does the same as plan_remap(). Without `complete`, destination elements without a source do not
/// change.
[[nodiscard]] MessageList plan_remap_with(int rank, const Systems& systems,
                                          const RemapSide& destination, const RemapSide& source,
                                          const RemapOptions& options, bool complete);

}  // namespace impishim::darray
