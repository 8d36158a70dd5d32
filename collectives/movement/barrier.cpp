// SPDX-License-Identifier: Apache-2.0
// Barrier. IMPI 5.4: tag 110, empty messages. Own forms: collectives/README.md.
#include <cstddef>
#include <cstdint>
#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/pattern.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::collectives {
namespace {

const wire::TypeLayout& nothing() { return wire::TypeLayout::basic(wire::BasicType::kByte); }
wire::ConstBuffer signal() { return {nullptr, 0, &nothing()}; }
wire::MutableBuffer room_for_signal() { return {nullptr, 0, &nothing()}; }

Task linear(const Team& team) {
  const auto masters = team.membership.masters;
  if (team.membership.my_client() != 0) {
    co_await team.leaders.post_send(masters[0], kBarrierTag, signal());
    co_await team.leaders.post_receive(masters[0], kBarrierTag, room_for_signal());
    co_return;
  }
  for (const std::int32_t master : masters.subspan(1))
    team.leaders.post_receive(master, kBarrierTag, room_for_signal());
  co_await team.leaders.all_posted();
  for (const std::int32_t master : masters.subspan(1))
    team.leaders.post_send(master, kBarrierTag, signal());
  co_await team.leaders.all_posted();
}

Task hypercube(const Team& team) {
  const auto masters = team.membership.masters;
  const std::int32_t me = team.membership.my_client();
  const std::int32_t parent = masters[static_cast<std::size_t>(hypercube_parent(me))];
  const auto children = hypercube_children(me, team.membership.client_count());
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    team.leaders.post_receive(masters[static_cast<std::size_t>(*child)], kBarrierTag,
                              room_for_signal());
  }
  co_await team.leaders.all_posted();
  if (me != 0) {
    co_await team.leaders.post_send(parent, kBarrierTag, signal());
    co_await team.leaders.post_receive(parent, kBarrierTag, room_for_signal());
  }
  for (const std::int32_t child : children) {
    team.leaders.post_send(masters[static_cast<std::size_t>(child)], kBarrierTag, signal());
  }
  co_await team.leaders.all_posted();
}

/// Every master signals every other master: one one-way delay.
Task exchange(const Team& team) {
  for (const std::int32_t master : team.membership.masters) {
    if (master == team.membership.rank) continue;
    team.leaders.post_receive(master, kBarrierExchangeTag, room_for_signal());
    team.leaders.post_send(master, kBarrierExchangeTag, signal());
  }
  co_await team.leaders.all_posted();
}

/// Dissemination: after round i every master knows of the 2^i masters before it.
Task dissemination(const Team& team) {
  const auto masters = team.membership.masters;
  const auto number = masters.size();
  const auto me = static_cast<std::size_t>(team.membership.my_client());
  for (std::size_t distance = 1; distance < number; distance <<= 1) {
    team.leaders.post_receive(masters[(me + number - distance) % number], kBarrierExchangeTag,
                              room_for_signal());
    team.leaders.post_send(masters[(me + distance) % number], kBarrierExchangeTag, signal());
    co_await team.leaders.all_posted();
  }
}

Task among_masters(const Team& team) {
  const Form form = choose(Collective::kBarrier, team.membership.client_count(), 0, team.limits);
  if (form == Form::kTree) return hypercube(team);
  if (form == Form::kLinear) return linear(team);
  return form == Form::kExchange ? exchange(team) : dissemination(team);
}

}  // namespace

Task barrier(const Team& team) {
  const Membership& membership = team.membership;
  if (membership.client_count() == 1) {
    co_await team.local.barrier();
    co_return;
  }
  // Half a barrier in, half a barrier out: only the master needs to know that all members have
  // arrived.
  const bool is_master = membership.local_rank(membership.rank) == 0;
  std::byte here{};
  const Bytes all(is_master ? membership.spanning_ranks.size() : 0);
  co_await team.local.gather(std::span(&here, 1), all.all(), 0);
  if (is_master) co_await among_masters(team);
  co_await team.local.broadcast(std::span(&here, 1), 0);
}

}  // namespace impishim::collectives
