// SPDX-License-Identifier: Apache-2.0
/// Parts of Alltoall.
#pragma once

#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

/// Runs Alltoall with blocks of equal size that is not 0. The blocks between two clients travel in
/// one message between their masters, which gather them from their members and scatter them to
/// their members. Blocks inside a client take the same way if they are few and all clients
/// represent data alike; otherwise they go directly.
Task alltoall_together(const Team& team, std::span<const ConstData> to, std::span<const Data> from);

/// Sends and receives the blocks between members of this client, each directly.
Task straight_inside(const Team& team, std::span<const ConstData> to, std::span<const Data> from);

}  // namespace impishim::collectives
