// SPDX-License-Identifier: Apache-2.0
// Bcast.
//
// Data that is sent whole uses IMPI's forms (IMPI 5.5: tag 120, the user's count and type), and own
// forms if it has one segment. Longer data between systems of this library travels in segments
// (bcast_segments.cpp).
#include "collectives/movement/bcast.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/members.hpp"
#include "collectives/core/packed_blocks.hpp"
#include "collectives/core/pattern.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "collectives/movement/bcast_segments.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::collectives {
namespace {

ConstData source_of(const Data& data) { return data; }
wire::ConstBuffer source_of(std::span<std::byte> bytes) {
  return buffer_of(std::span<const std::byte>(bytes));
}
const Data& room_of(const Data& data) { return data; }
wire::MutableBuffer room_of(std::span<std::byte> bytes) { return buffer_of(bytes); }

/// The speakers from which a client's speaker receives the data, and to which it relays it.
struct Neighbours {
  Neighbours(const Membership& membership, std::int32_t root, Form form) {
    const std::int32_t clients = membership.client_count();
    const std::int32_t root_client = membership.client_of(root);
    const std::int32_t me = to_virtual(membership.my_client(), root_client, clients);
    const auto speaker_of = [&](std::int32_t node) {
      return membership.speaker(from_virtual(node, root_client, clients), root);
    };
    if (form == Form::kTree) {
      parent = speaker_of(hypercube_parent(me));
      for (const std::int32_t child : hypercube_children(me, clients))
        children.push_back(speaker_of(child));
      return;
    }
    parent = root;
    for (std::int32_t client = 0; me == 0 && client < clients; ++client) {
      if (client != root_client) children.push_back(membership.speaker(client, root));
    }
  }

  std::int32_t parent = 0;  ///< meaningless at the root
  std::vector<std::int32_t> children;
};

/// Broadcasts whole data. `Payload` is typed data or bytes.
template <class Payload>
Task whole(const Team& team, Payload payload, std::int32_t root, Form form) {
  const Membership& membership = team.membership;
  const std::int32_t speaker = membership.speaker(membership.my_client(), root);
  if (membership.rank == speaker) {
    const Neighbours neighbours(membership, root, form);
    if (membership.rank != root)
      co_await team.leaders.post_receive(neighbours.parent, kBcastTag, room_of(payload));
    for (const std::int32_t child : neighbours.children)
      team.leaders.post_send(child, kBcastTag, source_of(payload));
  }
  // The messages to other clients travel during the local broadcast.
  co_await team.local.broadcast(payload, membership.local_rank(speaker));
  co_await team.leaders.all_posted();
}

Task in_segments(const Team& team, Data data, std::int32_t root, Form form) {
  const Membership& membership = team.membership;
  const std::int32_t speaker = membership.speaker(membership.my_client(), root);
  if (membership.rank == root) {
    Pending& local = team.local.broadcast(data, membership.local_rank(root));
    const Neighbours neighbours(membership, root, form);
    co_await send_segments(team, neighbours.children, data);
    co_await local;
  } else if (membership.is_local(root)) {
    co_await team.local.broadcast(data, membership.local_rank(root));
  } else if (membership.rank == speaker) {
    const Neighbours neighbours(membership, root, form);
    co_await pass_on_segments(team, neighbours.parent, neighbours.children, team.local,
                              membership.local_rank(speaker), data);
  } else {
    co_await take_segments(team.limits, team.local, membership.local_rank(speaker), data);
  }
}

}  // namespace

Task bcast_bytes(const Team& team, std::span<std::byte> bytes, std::int32_t root) {
  return whole(
      team, bytes, root,
      choose(Collective::kBcast, team.membership.client_count(), bytes.size(), team.limits));
}

Task bcast(const Team& team, Data data, std::int32_t root) {
  const Form form = choose(Collective::kBcast, team.membership.client_count(),
                           ConstData(data).external_bytes(), team.limits);
  const bool segments = segment_count(data, team.limits) > 1 ||
                        (team.limits.lengths_may_differ && !team.membership.is_local(root));
  if (segments && team.membership.client_count() > 1) return in_segments(team, data, root, form);
  return whole(team, data, root, form);
}

namespace inter {
namespace {

/// Sends from the root to one member of each client of the other group.
Task send_across(const InterTeam& team, Data data) {
  const Team& both = team.both;
  std::vector<std::int32_t> elsewhere;
  for (const ClientMembers& client :
       by_client(both.membership, {team.first_remote, team.remote_size()})) {
    if (client.client != both.membership.my_client())
      elsewhere.push_back(client.master());
    else
      both.leaders.post_send(client.master(), kBcastSegmentTag, ConstData(data));
  }
  co_await send_segments(both, elsewhere, data);
  co_await both.leaders.all_posted();
}

/// Receives from `root`, which is a rank in the other group.
Task take_across(const InterTeam& team, Data data, std::int32_t root) {
  const Team& both = team.both;
  const Membership& local = team.local.membership;
  const std::int32_t from = team.first_remote + root;
  const bool is_master = local.masters[static_cast<std::size_t>(local.my_client())] == local.rank;
  if (both.membership.is_local(from)) {
    if (is_master) co_await both.leaders.post_receive(from, kBcastSegmentTag, data);
    co_await team.local.local.broadcast(data, 0);
  } else if (is_master) {
    co_await pass_on_segments(both, from, {}, team.local.local, 0, data);
  } else {
    co_await take_segments(both.limits, team.local.local, 0, data);
  }
}

}  // namespace

Task bcast(const InterTeam& team, Data data, std::int32_t root) {
  if (root == kIsBystander) return no_op();
  return root == kIsRoot ? send_across(team, data) : take_across(team, data, root);
}

}  // namespace inter
}  // namespace impishim::collectives
