// SPDX-License-Identifier: Apache-2.0
// Alltoall, Alltoallv, Alltoallw, and exchanges along the edges of neighbourhoods.
//
// IMPI's form (IMPI 5.11, 5.12: tags 170, 180), and the own form for long blocks or blocks of any
// size, send directly between each pair of processes. The own form for short equal blocks sends
// them together between each pair of masters (alltoall_together.cpp). Each takes one one-way delay.
#include "collectives/movement/alltoall.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/core/blocks.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {
namespace {

/// Copies of blocks whose memory also receives blocks (MPI_IN_PLACE).
class InPlaceBlocks {
 public:
  /// Returns `to`, or its copy if it lies where `from` is received.
  ConstData moved_away(const ConstData& to, const Data& from) {
    if (to.base != from.base || is_empty(to)) return to;
    const Data& copied = copies_.emplace_back(*to.type, to.count).data();
    copy(to, copied);
    return copied;
  }

 private:
  std::list<TypedRoom> copies_;
};

/// Exchanges blocks directly with all ranks for which `concerns` is true, and copies the own block.
template <class Concerns>
Task straight(const Team& team, std::span<const ConstData> to, std::span<const Data> from,
              std::int32_t tag, Concerns concerns) {
  const Membership& membership = team.membership;
  InPlaceBlocks in_place;
  std::vector<ConstData> out;
  out.reserve(to.size());
  for (std::int32_t peer = 0; peer < membership.size(); ++peer) {
    const auto i = static_cast<std::size_t>(peer);
    out.push_back(peer != membership.rank && concerns(peer, to[i])
                      ? in_place.moved_away(to[i], from[i])
                      : to[i]);
  }
  // Each rank starts with the rank after its own, so that not all of them send to the same rank
  // first.
  for (std::int32_t i = 1; i < membership.size(); ++i) {
    const std::int32_t peer = (membership.rank + membership.size() - i) % membership.size();
    const Data& room = from[static_cast<std::size_t>(peer)];
    if (concerns(peer, room)) team.leaders.post_receive(peer, tag, room);
  }
  for (std::int32_t i = 1; i < membership.size(); ++i) {
    const std::int32_t peer = (membership.rank + i) % membership.size();
    const ConstData& block = out[static_cast<std::size_t>(peer)];
    if (concerns(peer, block)) team.leaders.post_send(peer, tag, block);
  }
  const auto own = static_cast<std::size_t>(membership.rank);
  copy(to[own], from[own]);
  co_await team.leaders.all_posted();
}

Task straight_to_all(const Team& team, std::span<const ConstData> to, std::span<const Data> from,
                     std::int32_t impi_tag) {
  const bool impi = team.limits.impi_only;
  const auto concerns = [&team, impi](std::int32_t peer, const ConstData& block) {
    return !is_empty(block) || (impi && !team.membership.is_local(peer));
  };
  return straight(team, to, from, impi ? impi_tag : kStraightTag, concerns);
}

}  // namespace

Task straight_inside(const Team& team, std::span<const ConstData> to, std::span<const Data> from) {
  return straight(team, to, from, kStraightTag, [&team](std::int32_t peer, const ConstData& block) {
    return team.membership.is_local(peer) && !is_empty(block);
  });
}

Task alltoall(const Team& team, std::span<const ConstData> to, std::span<const Data> from) {
  const std::uint64_t bytes = is_empty(from[0]) ? 0 : ConstData(from[0]).external_bytes();
  const Form form =
      choose(Collective::kAlltoall, team.membership.client_count(), bytes, team.limits);
  if (form == Form::kExchange && bytes > 0 && team.membership.client_count() > 1)
    return alltoall_together(team, to, from);
  return straight_to_all(team, to, from, kAlltoallTag);
}

Task alltoallv(const Team& team, std::span<const ConstData> to, std::span<const Data> from) {
  return straight_to_all(team, to, from, kAlltoallvTag);
}

Task exchange(const Team& team, std::span<const SendEdge> to, std::span<const ReceiveEdge> from) {
  for (const ReceiveEdge& edge : from) {
    if (!is_empty(edge.data))
      team.leaders.post_receive(edge.from, kEdgeTag + edge.label, edge.data);
  }
  for (const SendEdge& edge : to) {
    if (!is_empty(edge.data)) team.leaders.post_send(edge.to, kEdgeTag + edge.label, edge.data);
  }
  co_await team.leaders.all_posted();
}

namespace inter {

Task alltoallv(const InterTeam& team, std::span<const ConstData> to, std::span<const Data> from) {
  for (std::int32_t i = 0; i < team.remote_size(); ++i) {
    const Data& room = from[static_cast<std::size_t>(i)];
    if (!is_empty(room)) team.both.leaders.post_receive(team.first_remote + i, kStraightTag, room);
  }
  for (std::int32_t i = 0; i < team.remote_size(); ++i) {
    const std::int32_t peer = (team.local.membership.rank + i) % team.remote_size();
    const ConstData& block = to[static_cast<std::size_t>(peer)];
    if (!is_empty(block))
      team.both.leaders.post_send(team.first_remote + peer, kStraightTag, block);
  }
  co_await team.both.leaders.all_posted();
}

Task barrier(const InterTeam& team) { return collectives::barrier(team.both); }

}  // namespace inter
}  // namespace impishim::collectives
