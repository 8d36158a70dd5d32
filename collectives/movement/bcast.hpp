// SPDX-License-Identifier: Apache-2.0
/// Parts of Bcast that other operations use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

/// Broadcasts bytes of the root to all members, each message whole. For operations that end with a
/// Bcast in IMPI 0.0.
Task bcast_bytes(const Team& team, std::span<std::byte> bytes, std::int32_t root);

}  // namespace impishim::collectives
