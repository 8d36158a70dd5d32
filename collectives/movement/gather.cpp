// SPDX-License-Identifier: Apache-2.0
// Gather and Gatherv.
//
// IMPI's forms (IMPI 5.6, 5.7: tags 130, 140): each master sends its client's packed blocks to the
// root, in rank order. Short blocks of many clients go through a tree (block_tree.cpp). The own
// form follows blocks.hpp and takes one one-way delay.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

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

Pending& gather_inside(const Team& group, std::span<const std::byte> own, std::span<std::byte> room,
                       std::span<const std::uint64_t> sizes, bool equal) {
  return equal ? group.local.gather(own, room, 0) : group.local.gatherv(own, room, sizes, 0);
}

/// Runs the part of the members of a client without the root. `group` has the blocks; `team`
/// carries the messages. `equal`: all blocks have one size, so sizes need not be exchanged.
Task contribute(const Team& group, const Team& team, std::int32_t root, ConstData block,
                const BlockRule& rule, bool equal) {
  const bool alone = rule.alone(block);
  if (alone) team.leaders.post_send(root, kStraightTag, block);
  if (alone && equal) {
    co_await team.leaders.all_posted();
    co_return;
  }
  const ConstPackedBlocks own(std::span<const ConstData>(&block, alone ? 0 : 1), rule.format());
  co_await own.packed();
  const bool is_master = group.membership.local_rank(group.membership.rank) == 0;
  MemberSizes sizes(group, own.bytes().size());
  if (!equal) co_await sizes.tell_master();
  const bool by_itself = group.membership.spanning_ranks.size() == 1;
  const Bytes room(is_master && !by_itself ? sizes.total() : 0);
  if (!by_itself) co_await gather_inside(group, own.bytes(), room.all(), sizes.all(), equal);
  if (is_master) post_bytes(team, root, rule.tag(), by_itself ? own.bytes() : room.all());
  co_await team.leaders.all_posted();
}

/// Runs the part of a member of the root's client, which sends directly to the root.
Task contribute_inside(const Team& team, std::int32_t root, ConstData block) {
  if (is_empty(block)) co_return;
  co_await team.leaders.post_send(root, kStraightTag, block);
}

/// Posts the root's direct receives, and returns the packed blocks that it receives in addition.
std::deque<PackedBlocks> post_collection(const Team& team, RankRange senders,
                                         std::span<const Data> all, const BlockRule& rule,
                                         bool together_too) {
  std::deque<PackedBlocks> all_packed_blocks;
  for (const ClientMembers& client : by_client(team.membership, senders)) {
    const bool inside = client.client == team.membership.my_client();
    for (const std::int32_t rank : client.ranks) {
      const Data& block = all[static_cast<std::size_t>(rank - senders.first)];
      const bool straight =
          inside ? rank != team.membership.rank && !is_empty(block) : rule.alone(block);
      if (straight) team.leaders.post_receive(rank, kStraightTag, block);
    }
    if (inside || !together_too) continue;
    all_packed_blocks.emplace_back(together(all, senders.first, client.ranks, rule), rule.format());
    post_room(team, client.master(), rule.tag(), all_packed_blocks.back().room());
  }
  return all_packed_blocks;
}

/// Runs the root's part.
Task collect(const Team& team, RankRange senders, std::span<const Data> all,
             const BlockRule& rule) {
  auto all_packed_blocks = post_collection(team, senders, all, rule, true);
  co_await team.leaders.all_posted();
  for (PackedBlocks& packed_blocks : all_packed_blocks) co_await packed_blocks.unpack();
}

Task gather_blocks(const Team& team, ConstData block, std::span<const Data> all, std::int32_t root,
                   BlockRule rule, bool equal) {
  const Membership& membership = team.membership;
  if (membership.rank == root) {
    copy(block, all[static_cast<std::size_t>(root)]);
    co_await collect(team, {0, membership.size()}, all, rule);
  } else if (membership.is_local(root)) {
    co_await contribute_inside(team, root, block);
  } else {
    co_await contribute(team, team, root, block, rule, equal);
  }
}

/// Runs IMPI's short form for many clients.
Task gather_by_tree(const Team& team, ConstData block, std::span<const Data> all, std::int32_t root,
                    BlockRule rule) {
  const Membership& membership = team.membership;
  if (membership.rank != root && membership.is_local(root)) {
    co_await contribute_inside(team, root, block);
    co_return;
  }
  const std::size_t locals = membership.spanning_ranks.size();
  const ConstPackedBlocks own(std::span(&block, 1), rule.format());
  co_await own.packed();
  if (membership.rank == root) {
    copy(block, all[static_cast<std::size_t>(root)]);
    post_collection(team, {0, membership.size()}, all, rule, false);
    co_await collect_from_tree(team, all, root, rule);
    co_return;
  }
  const bool is_master = membership.local_rank(membership.rank) == 0;
  const Bytes room(is_master ? locals * own.bytes().size() : 0);
  co_await team.local.gather(own.bytes(), room.all(), 0);
  if (is_master) co_await gather_through_tree(team, room.all(), own.bytes().size(), root, rule);
}

}  // namespace

Task gather(const Team& team, ConstData block, std::span<const Data> all, std::int32_t root) {
  const BlockRule rule(team, Collective::kGather, kGatherTag);
  const Form form = choose(Collective::kGather, team.membership.client_count(),
                           block.external_bytes(), team.limits);
  if (form == Form::kTree) return gather_by_tree(team, block, all, root, rule);
  return gather_blocks(team, block, all, root, rule, true);
}

Task gatherv(const Team& team, ConstData block, std::span<const Data> all, std::int32_t root) {
  return gather_blocks(team, block, all, root, BlockRule(team, Collective::kGatherv, kGathervTag),
                       false);
}

namespace inter {
namespace {

Task send_across(const InterTeam& team, ConstData block, std::int32_t root) {
  const BlockRule rule(team.both, Collective::kGatherv, kGathervTag);
  if (team.both.membership.is_local(root)) {
    co_await contribute_inside(team.both, root, block);
  } else {
    co_await contribute(team.local, team.both, root, block, rule, false);
  }
}

Task collect_across(const InterTeam& team, std::span<const Data> all) {
  const BlockRule rule(team.both, Collective::kGatherv, kGathervTag);
  co_await collect(team.both, {team.first_remote, team.remote_size()}, all, rule);
}

}  // namespace

Task gatherv(const InterTeam& team, ConstData block, std::span<const Data> all, std::int32_t root) {
  if (root == kIsBystander) return no_op();
  return root == kIsRoot ? collect_across(team, all)
                         : send_across(team, block, team.first_remote + root);
}

}  // namespace inter
}  // namespace impishim::collectives
