// SPDX-License-Identifier: Apache-2.0
// Allgather and Allgatherv.
//
// IMPI's form (IMPI 5.10): Gather(v) to rank 0, then Bcast of all blocks. The own form follows
// spread.hpp, between all pairs of clients at the same time; it takes one one-way delay.
#include <algorithm>
#include <cstddef>
#include <cstdint>
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
#include "collectives/movement/allgather_exchange.hpp"
#include "collectives/movement/bcast.hpp"
#include "wire/data/basic_type.hpp"

namespace impishim::collectives {
namespace {

/// Broadcasts what rank 0 has gathered, packed in the order of ranks.
Task spread_from_root(const Team& team, std::span<const Data> all) {
  PackedBlocks everything({all.begin(), all.end()}, transit_format(team.limits));
  if (team.membership.rank == 0) co_await everything.pack();
  co_await bcast_bytes(team, everything.room(), 0);
  if (team.membership.rank != 0) co_await everything.unpack();
}

Task rooted(const Team& team, ConstData block, std::span<const Data> all, bool equal) {
  // No ?: here: g++ 12 destroys both of its operands when they are tasks.
  if (equal) {
    co_await gather(team, block, all, 0);
  } else {
    co_await gatherv(team, block, all, 0);
  }
  co_await spread_from_root(team, all);
}

/// Gathers the blocks of this client on all of its members. The packed blocks then hold them,
/// packed in `format`.
Task gather_inside(const Team& team, const ConstData& block, PackedBlocks& own_client,
                   std::span<const std::uint64_t> sizes, wire::Format format) {
  const ConstPackedBlocks own(std::span(&block, 1), format);
  co_await own.packed();
  co_await team.local.allgatherv(own.bytes(), own_client.room(), sizes);
}

Task among_all(const Team& team, ConstData block, std::span<const Data> all, BlockRule rule) {
  const Membership& membership = team.membership;
  auto others = by_client(membership);
  const ClientMembers mine = *own_client(membership, others);
  std::erase_if(others, [&](const ClientMembers& each) { return each.client == mine.client; });
  // One choice for all blocks decides whether they travel alone or together. Inside the client they
  // go the same way in both cases.
  const bool alone = std::ranges::any_of(all, [&](const Data& each) { return rule.alone(each); });
  const wire::Format format = alone ? wire::Format::kNative : rule.format();
  Arrivals arrivals(team, all, 0, others, mine, rule);
  arrivals.post();
  post_alone(team, block, mine, others, rule);
  std::vector<Data> blocks;
  std::vector<std::uint64_t> sizes;
  for (const std::int32_t rank : mine.ranks) {
    blocks.push_back(all[static_cast<std::size_t>(rank)]);
    sizes.push_back(packed_bytes(blocks.back(), format));
  }
  PackedBlocks inside(blocks, format);
  co_await gather_inside(team, block, inside, sizes, format);
  if (!alone && mine.master() == membership.rank) {
    for (const ClientMembers& other : others)
      post_bytes(team, other.master(), rule.tag(), inside.room());
  }
  co_await team.leaders.all_posted();
  co_await inside.unpack();
  co_await arrivals.spread(team.local);
}

std::uint64_t total_bytes(std::span<const Data> all) {
  std::uint64_t bytes = 0;
  for (const Data& each : all) bytes += is_empty(each) ? 0 : ConstData(each).external_bytes();
  return bytes;
}

Task allgather_blocks(const Team& team, ConstData block, std::span<const Data> all,
                      Collective collective, bool equal) {
  const Form form =
      choose(collective, team.membership.client_count(), total_bytes(all), team.limits);
  if (form == Form::kRooted) return rooted(team, block, all, equal);
  return among_all(team, block, all, BlockRule(team, form == Form::kDirect));
}

}  // namespace

Task allgather(const Team& team, ConstData block, std::span<const Data> all) {
  return allgather_blocks(team, block, all, Collective::kAllgather, true);
}

Task allgatherv(const Team& team, ConstData block, std::span<const Data> all) {
  return allgather_blocks(team, block, all, Collective::kAllgatherv, false);
}

namespace inter {
namespace {

/// Sends a client's blocks that travel together from its master to the masters of the other group's
/// clients.
Task send_together(const InterTeam& team, const ConstData& block,
                   std::span<const ClientMembers> targets, const BlockRule& rule) {
  const Team& group = team.local;
  const ConstPackedBlocks own(std::span(&block, rule.alone(block) ? 0 : 1), rule.format());
  co_await own.packed();
  const bool is_master = group.membership.local_rank(group.membership.rank) == 0;
  MemberSizes sizes(group, own.bytes().size());
  co_await sizes.tell_master();
  const Bytes room(is_master ? sizes.total() : 0);
  co_await group.local.gatherv(own.bytes(), room.all(), sizes.all(), 0);
  for (const ClientMembers& target : targets) {
    if (is_master) post_bytes(team.both, target.master(), rule.tag(), room.all());
  }
  co_await team.both.leaders.all_posted();
}

}  // namespace

Task allgatherv(const InterTeam& team, ConstData block, std::span<const Data> all) {
  const Team& both = team.both;
  const BlockRule rule(both, Collective::kGatherv, kGathervTag);
  const auto others = by_client(both.membership, {team.first_remote, team.remote_size()});
  const auto own_group = by_client(both.membership, {team.first_local, team.local_size()});
  const ClientMembers& mine = *own_client(both.membership, own_group);
  Arrivals arrivals(both, all, team.first_remote, others, mine, rule);
  arrivals.post();
  post_alone(both, block, mine, others, rule);
  co_await send_together(team, block, others, rule);
  co_await arrivals.spread(team.local.local);
}

}  // namespace inter
}  // namespace impishim::collectives
