// SPDX-License-Identifier: Apache-2.0
/// IMPI's short forms of Gather and Scatter for many clients (IMPI 5.6, 5.8). Blocks of equal size
/// travel through a binomial tree of masters, counted from the root's client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/core/blocks.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

/// Runs a master's part of Gather: sends its client's blocks and those of its subtree to its
/// parent.
Task gather_through_tree(const Team& team, std::span<const std::byte> own, std::uint64_t block_size,
                         std::int32_t root, const BlockRule& rule);
/// Runs the root's part of Gather. Also waits for all other messages that have been posted.
Task collect_from_tree(const Team& team, std::span<const Data> all, std::int32_t root,
                       const BlockRule& rule);

/// ClientRange a master's part and the root's part of Scatter.
Task scatter_through_tree(const Team& team, std::span<std::byte> own, std::uint64_t block_size,
                          std::int32_t root, const BlockRule& rule);
Task distribute_to_tree(const Team& team, std::span<const ConstData> all, std::int32_t root,
                        const BlockRule& rule);

}  // namespace impishim::collectives
