/// IMPI's short forms of Gather and Scatter with many clients (IMPI 5.6, 5.8): blocks of equal size
/// through a binomial tree of masters, counted from the root's client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/core/blocks.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

/// A master's part: its client's blocks and those of its subtree, to its parent.
Task gather_through_tree(const Team& team, std::span<const std::byte> own, std::uint64_t block_size,
                         std::int32_t root, const BlockRule& rule);
/// The root's part; it waits for everything else that has been posted as well.
Task collect_from_tree(const Team& team, std::span<const Data> all, std::int32_t root,
                       const BlockRule& rule);

/// The same the other way.
Task scatter_through_tree(const Team& team, std::span<std::byte> own, std::uint64_t block_size,
                          std::int32_t root, const BlockRule& rule);
Task distribute_to_tree(const Team& team, std::span<const ConstData> all, std::int32_t root,
                        const BlockRule& rule);

}  // namespace impishim::collectives
