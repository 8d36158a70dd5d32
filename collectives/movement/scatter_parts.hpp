/// The end of a reduce_scatter: a result goes out in parts.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"

namespace impishim::collectives {

/// Member i of the team gets counts[i] elements of `total`, which counts at `root`, to `part`.
Task scatter_parts(const Team& team, ConstData total, Data part,
                   std::span<const std::uint64_t> counts, std::int32_t root);

/// The same inside a client, from its master: by local rank.
Task scatter_locally(const Team& team, ConstData total, Data part,
                     std::span<const std::uint64_t> counts);

}  // namespace impishim::collectives
