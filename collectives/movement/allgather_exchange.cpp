// SPDX-License-Identifier: Apache-2.0
#include "collectives/movement/allgather_exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>
#include "collectives/core/blocks.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/members.hpp"
#include "collectives/core/packed_blocks.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "wire/data/basic_type.hpp"

namespace impishim::collectives {
namespace {

std::vector<Data> all_together(std::span<const Data> all, std::int32_t first,
                               std::span<const ClientMembers> sources, const BlockRule& rule) {
  std::vector<Data> blocks;
  for (const ClientMembers& source : sources) {
    const auto these = together(all, first, source.ranks, rule);
    blocks.insert(blocks.end(), these.begin(), these.end());
  }
  return blocks;
}

std::uint64_t native_bytes(std::span<const Data> blocks) {
  std::uint64_t sum = 0;
  for (const Data& block : blocks) sum += packed_bytes(block, wire::Format::kNative);
  return sum;
}

}  // namespace

void post_alone(const Team& team, const ConstData& block, const ClientMembers& mine,
                std::span<const ClientMembers> targets, const BlockRule& rule) {
  if (!rule.alone(block)) return;
  const std::size_t here = mine.index_of(team.membership.rank);
  for (const ClientMembers& target : targets) {
    team.leaders.post_send(target.ranks[receiver_of(here, mine.size(), target.size())],
                           kStraightTag, block);
  }
}

Arrivals::Arrivals(const Team& team, std::span<const Data> all, std::int32_t first,
                   std::vector<ClientMembers> sources, ClientMembers mine, BlockRule rule)
    : team_(team),
      all_(all),
      first_(first),
      sources_(std::move(sources)),
      mine_(std::move(mine)),
      rule_(rule),
      me_(mine_.index_of(team.membership.rank)),
      together_(all_together(all, first, sources_, rule), rule.format()) {
  for (const ClientMembers& source : sources_) {
    std::uint64_t bytes = 0;
    for (const Data& each : together(all_, first_, source.ranks, rule_))
      bytes += packed_bytes(each, rule_.format());
    together_sizes_.push_back(bytes);
    dealt_.push_back(deal(source));
  }
}

Arrivals::Dealt Arrivals::deal(const ClientMembers& source) const {
  Dealt dealt;
  dealt.shares.assign(mine_.size(), 0);
  for (std::size_t i = 0; i < source.size(); ++i) {
    const Data& each = block(source.ranks[i]);
    if (!rule_.alone(each)) continue;
    const std::size_t receiver = receiver_of(i, source.size(), mine_.size());
    if (receiver < me_) dealt.own_begin = dealt.blocks.size() + 1;
    if (receiver <= me_) dealt.own_end = dealt.blocks.size() + 1;
    dealt.shares[receiver] += packed_bytes(each, wire::Format::kNative);
    dealt.blocks.push_back(each);
    dealt.ranks.push_back(source.ranks[i]);
  }
  return dealt;
}

void Arrivals::post() {
  for (const Dealt& dealt : dealt_) {
    for (std::size_t i = dealt.own_begin; i < dealt.own_end; ++i) {
      team_.leaders.post_receive(dealt.ranks[i], kStraightTag, dealt.blocks[i]);
    }
  }
  if (me_ != 0) return;
  auto room = together_.room();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    post_room(team_, sources_[i].master(), rule_.tag(), room.first(together_sizes_[i]));
    room = room.subspan(together_sizes_[i]);
  }
}

Task Arrivals::spread(LocalGroup& local) {
  if (mine_.size() > 1 && !together_.room().empty()) co_await local.broadcast(together_.room(), 0);
  co_await together_.unpack();
  for (const Dealt& dealt : dealt_) {
    if (mine_.size() > 1 && native_bytes(dealt.blocks) > 0) co_await gather_dealt(local, dealt);
  }
}

/// Received blocks are in their places in this machine's representation, which all members of one
/// client share.
Task Arrivals::gather_dealt(LocalGroup& local, const Dealt& dealt) const {
  PackedBlocks everything(dealt.blocks, wire::Format::kNative);
  const std::vector<ConstData> own(
      dealt.blocks.begin() + static_cast<std::ptrdiff_t>(dealt.own_begin),
      dealt.blocks.begin() + static_cast<std::ptrdiff_t>(dealt.own_end));
  const ConstPackedBlocks mine(own, wire::Format::kNative);
  co_await local.allgatherv(mine.bytes(), everything.room(), dealt.shares);
  co_await everything.unpack();
}

}  // namespace impishim::collectives
