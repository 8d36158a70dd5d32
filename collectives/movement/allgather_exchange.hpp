// SPDX-License-Identifier: Apache-2.0
/// One direction of Allgather: the blocks of the members of some clients reach all members of
/// another group or client.
///
/// Blocks that travel together go from master to master, and then to the members by one broadcast.
/// Blocks that travel alone are distributed over the members of the receiving client, so that all
/// of them send and receive at the same time. The receiving client then gathers them.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "collectives/core/blocks.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

/// Returns which of a client's `receivers` members gets block `block` of the `blocks` blocks of
/// another client. Consecutive blocks go to one member.
[[nodiscard]] constexpr std::size_t receiver_of(std::size_t block, std::size_t blocks,
                                                std::size_t receivers) {
  return block * receivers / blocks;
}

/// Posts this member's own block, if it travels alone, to each of `targets`. `mine` holds the
/// members of its own client.
void post_alone(const Team& team, const ConstData& block, const ClientMembers& mine,
                std::span<const ClientMembers> targets, const BlockRule& rule);

/// The blocks that a member receives. Ranks are those of `team`, whose messages carry them.
class Arrivals {
 public:
  /// `all` is indexed by rank, starting with rank `first`. `sources` are the clients that send
  /// blocks. `mine` holds the members of this client that receive them.
  Arrivals(const Team& team, std::span<const Data> all, std::int32_t first,
           std::vector<ClientMembers> sources, ClientMembers mine, BlockRule rule);
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  /// Posts the receives of this member.
  void post();
  /// Distributes the received blocks among the members of this client. Call it after they have
  /// arrived. `local` has the members in the order of `mine`.
  Task spread(LocalGroup& local);

 private:
  /// The blocks of a client that travel alone, in the order of its ranks, and the share of each
  /// member of this client.
  struct Dealt {
    std::vector<Data> blocks;
    std::vector<std::int32_t> ranks;
    std::vector<std::uint64_t> shares;
    std::size_t own_begin = 0;
    std::size_t own_end = 0;
  };
  [[nodiscard]] Dealt deal(const ClientMembers& source) const;
  [[nodiscard]] const Data& block(std::int32_t rank) const {
    return all_[static_cast<std::size_t>(rank - first_)];
  }
  Task gather_dealt(LocalGroup& local, const Dealt& dealt) const;

  const Team& team_;
  std::span<const Data> all_;
  std::int32_t first_;
  std::vector<ClientMembers> sources_;
  ClientMembers mine_;
  BlockRule rule_;
  std::size_t me_;
  PackedBlocks together_;
  std::vector<std::uint64_t> together_sizes_;  ///< indexed by source
  std::deque<Dealt> dealt_;
};

}  // namespace impishim::collectives
