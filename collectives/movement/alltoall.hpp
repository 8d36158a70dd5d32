/// Parts of Alltoall.
#pragma once

#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

/// Blocks of equal size that is not 0: those between two clients in one message between their
/// masters, which get them from and hand them on to the members. So do those inside a client if
/// they are few and all clients represent data alike; otherwise they go straight.
Task alltoall_together(const Team& team, std::span<const ConstData> to, std::span<const Data> from);

/// The blocks between members of this client, each straight.
Task straight_inside(const Team& team, std::span<const ConstData> to, std::span<const Data> from);

}  // namespace impishim::collectives
