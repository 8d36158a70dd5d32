// SPDX-License-Identifier: Apache-2.0
// Scatter and Scatterv.
//
// IMPI's forms (IMPI 5.8, 5.9: tags 150, 160) mirror those of Gather: the root sends each master
// the packed blocks of its client. Short blocks of many clients go through a tree (block_tree.cpp).
// The own form follows blocks.hpp and takes one one-way delay.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/core/blocks.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/members.hpp"
#include "collectives/core/packed_blocks.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "collectives/movement/block_tree.hpp"

namespace impishim::collectives {
namespace {

/// Runs the part of the members of a client without the root. `group` gets the blocks; `team`
/// carries the messages. `equal`: all blocks have one size, so sizes need not be exchanged.
Task accept(const Team& group, const Team& team, std::int32_t root, Data block,
            const BlockRule& rule, bool equal) {
  const bool alone = rule.alone(block);
  if (alone) team.leaders.post_receive(root, kStraightTag, block);
  if (alone && equal) {
    co_await team.leaders.all_posted();
    co_return;
  }
  PackedBlocks own(alone ? std::vector<Data>() : std::vector{block}, rule.format());
  const bool is_master = group.membership.local_rank(group.membership.rank) == 0;
  MemberSizes sizes(group, own.room().size());
  if (!equal) co_await sizes.tell_master();
  const bool by_itself = group.membership.spanning_ranks.size() == 1;
  const Bytes room(is_master && !by_itself ? sizes.total() : 0);
  if (is_master) post_room(team, root, rule.tag(), by_itself ? own.room() : room.all());
  co_await team.leaders.all_posted();
  if (!by_itself) co_await group.local.scatterv(room.all(), sizes.all(), own.room(), 0);
  co_await own.unpack();
}

/// Runs the part of a member of the root's client, which receives directly from the root.
Task accept_inside(const Team& team, std::int32_t root, Data block) {
  if (is_empty(block)) co_return;
  co_await team.leaders.post_receive(root, kStraightTag, block);
}

/// Posts the root's direct sends.
void post_straight(const Team& team, RankRange receivers, std::span<const ConstData> all,
                   const BlockRule& rule) {
  for (std::int32_t rank = receivers.first; rank < receivers.first + receivers.count; ++rank) {
    const ConstData& block = all[static_cast<std::size_t>(rank - receivers.first)];
    const bool inside = team.membership.is_local(rank);
    const bool straight =
        inside ? rank != team.membership.rank && !is_empty(block) : rule.alone(block);
    if (straight) team.leaders.post_send(rank, kStraightTag, block);
  }
}

/// Runs the root's part.
Task distribute(const Team& team, RankRange receivers, std::span<const ConstData> all,
                const BlockRule& rule) {
  std::deque<ConstPackedBlocks> all_packed_blocks;
  for (const ClientMembers& client : by_client(team.membership, receivers)) {
    if (client.client == team.membership.my_client()) continue;
    const auto blocks = together(all, receivers.first, client.ranks, rule);
    co_await all_packed_blocks.emplace_back(blocks, rule.format()).packed();
    post_bytes(team, client.master(), rule.tag(), all_packed_blocks.back().bytes());
  }
  post_straight(team, receivers, all, rule);
  co_await team.leaders.all_posted();
}

Task scatter_blocks(const Team& team, std::span<const ConstData> all, Data block, std::int32_t root,
                    BlockRule rule, bool equal) {
  const Membership& membership = team.membership;
  if (membership.rank == root) {
    co_await distribute(team, {0, membership.size()}, all, rule);
    copy(all[static_cast<std::size_t>(root)], block);
  } else if (membership.is_local(root)) {
    co_await accept_inside(team, root, block);
  } else {
    co_await accept(team, team, root, block, rule, equal);
  }
}

/// Runs IMPI's short form for many clients.
Task scatter_by_tree(const Team& team, std::span<const ConstData> all, Data block,
                     std::int32_t root, BlockRule rule) {
  const Membership& membership = team.membership;
  if (membership.rank == root) {
    post_straight(team, {0, membership.size()}, all, rule);
    co_await distribute_to_tree(team, all, root, rule);
    copy(all[static_cast<std::size_t>(root)], block);
    co_return;
  }
  if (membership.is_local(root)) {
    co_await accept_inside(team, root, block);
    co_return;
  }
  PackedBlocks own({block}, rule.format());
  const MemberSizes sizes(team, own.room().size());
  const bool is_master = membership.local_rank(membership.rank) == 0;
  const Bytes room(is_master ? sizes.total() : 0);
  if (is_master) co_await scatter_through_tree(team, room.all(), own.room().size(), root, rule);
  co_await team.local.scatterv(room.all(), sizes.all(), own.room(), 0);
  co_await own.unpack();
}

}  // namespace

Task scatter(const Team& team, std::span<const ConstData> all, Data block, std::int32_t root) {
  const BlockRule rule(team, Collective::kScatter, kScatterTag);
  const std::uint64_t bytes = ConstData(block).external_bytes();
  const Form form =
      choose(Collective::kScatter, team.membership.client_count(), bytes, team.limits);
  if (form == Form::kTree) return scatter_by_tree(team, all, block, root, rule);
  return scatter_blocks(team, all, block, root, rule, true);
}

Task scatterv(const Team& team, std::span<const ConstData> all, Data block, std::int32_t root) {
  return scatter_blocks(team, all, block, root,
                        BlockRule(team, Collective::kScatterv, kScattervTag), false);
}

namespace inter {
namespace {

Task distribute_across(const InterTeam& team, std::span<const ConstData> all) {
  const BlockRule rule(team.both, Collective::kScatterv, kScattervTag);
  co_await distribute(team.both, {team.first_remote, team.remote_size()}, all, rule);
}

Task accept_across(const InterTeam& team, Data block, std::int32_t root) {
  const BlockRule rule(team.both, Collective::kScatterv, kScattervTag);
  if (team.both.membership.is_local(root)) {
    co_await accept_inside(team.both, root, block);
  } else {
    co_await accept(team.local, team.both, root, block, rule, false);
  }
}

}  // namespace

Task scatterv(const InterTeam& team, std::span<const ConstData> all, Data block,
              std::int32_t root) {
  if (root == kIsBystander) return no_op();
  return root == kIsRoot ? distribute_across(team, all)
                         : accept_across(team, block, team.first_remote + root);
}

}  // namespace inter
}  // namespace impishim::collectives
