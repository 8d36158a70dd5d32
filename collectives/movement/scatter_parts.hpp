// SPDX-License-Identifier: Apache-2.0
/// The last step of a reduce_scatter: the result is sent out in parts.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"

namespace impishim::collectives {

/// Gives member i of the team counts[i] elements of `total`, in `part`. `total` is significant at
/// `root` only.
Task scatter_parts(const Team& team, ConstData total, Data part,
                   std::span<const std::uint64_t> counts, std::int32_t root);

/// Does the same inside a client, from its master. `counts` is indexed by local rank.
Task scatter_locally(const Team& team, ConstData total, Data part,
                     std::span<const std::uint64_t> counts);

}  // namespace impishim::collectives
