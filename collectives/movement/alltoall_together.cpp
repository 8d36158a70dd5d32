// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "collectives/core/blocks.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/members.hpp"
#include "collectives/core/packed_blocks.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "collectives/movement/alltoall.hpp"
#include "wire/data/basic_type.hpp"

namespace impishim::collectives {
namespace {

/// Largest total of bytes between the members of a client that also go through its master. Up to
/// this size that is less work than separate messages.
constexpr std::size_t kInsideByMaster = 16384;

/// The places of blocks on a master. A member's row has the blocks to or from all ranks of these
/// clients, ordered by client. A client's part has the blocks between its members and this client's
/// members. In both directions it is ordered by sender, then by receiver.
class Places {
 public:
  Places(const std::vector<ClientMembers>& clients, std::size_t locals, std::size_t block)
      : clients_(clients), locals_(locals), block_(block) {
    first_.reserve(clients.size() + 1);
    first_.push_back(0);
    for (const ClientMembers& client : clients) first_.push_back(first_.back() + client.size());
  }
  [[nodiscard]] std::size_t row_bytes() const { return first_.back() * block_; }
  [[nodiscard]] std::size_t all_bytes() const { return locals_ * row_bytes(); }
  /// Returns the part of `memory` that holds a client's blocks.
  [[nodiscard]] std::span<std::byte> part(const Bytes& memory, std::size_t client) const {
    return memory.all().subspan(locals_ * first_[client] * block_,
                                locals_ * clients_[client].size() * block_);
  }

  /// Moves blocks from the rows of this client's members to the parts of the clients.
  void sort_outgoing(const Bytes& rows, const Bytes& parts) const {
    for (std::size_t client = 0; client < clients_.size(); ++client) {
      const std::size_t run = clients_[client].size() * block_;
      for (std::size_t member = 0; member < locals_; ++member) {
        std::memcpy(part(parts, client).data() + member * run, in_row(rows, member, client, 0),
                    run);
      }
    }
  }
  /// Moves blocks from the parts of the clients to the rows of this client's members.
  void sort_incoming(const Bytes& parts, const Bytes& rows) const {
    for (std::size_t client = 0; client < clients_.size(); ++client) {
      const std::byte* next = part(parts, client).data();
      for (std::size_t sender = 0; sender < clients_[client].size(); ++sender) {
        for (std::size_t member = 0; member < locals_; ++member, next += block_) {
          std::memcpy(in_row(rows, member, client, sender), next, block_);
        }
      }
    }
  }

 private:
  [[nodiscard]] std::byte* in_row(const Bytes& rows, std::size_t member, std::size_t client,
                                  std::size_t rank) const {
    return rows.all().data() + member * row_bytes() + (first_[client] + rank) * block_;
  }

  const std::vector<ClientMembers>& clients_;
  std::size_t locals_;
  std::size_t block_;
  std::vector<std::size_t> first_;  ///< number of ranks in the clients before each client
};

template <class Block>
std::vector<Block> in_order(std::span<const Block> blocks,
                            const std::vector<ClientMembers>& clients) {
  std::vector<Block> ordered;
  ordered.reserve(blocks.size());
  for (const ClientMembers& client : clients) {
    for (const std::int32_t rank : client.ranks)
      ordered.push_back(blocks[static_cast<std::size_t>(rank)]);
  }
  return ordered;
}

Task among_masters(const Team& team, const std::vector<ClientMembers>& clients,
                   const Places& places, const Bytes& outgoing, const Bytes& incoming) {
  const auto is_own = [&](std::size_t client) {
    return clients[client].client == team.membership.my_client();
  };
  for (std::size_t client = 0; client < clients.size(); ++client) {
    if (!is_own(client))
      post_room(team, clients[client].master(), kTogetherTag, places.part(incoming, client));
  }
  for (std::size_t client = 0; client < clients.size(); ++client) {
    const auto part = places.part(outgoing, client);
    if (is_own(client)) {
      std::ranges::copy(part, places.part(incoming, client).begin());
    } else {
      post_bytes(team, clients[client].master(), kTogetherTag, part);
    }
  }
  co_await team.leaders.all_posted();
}

/// Runs the master's part between the local gather and the local scatter. Replaces the contents of
/// `rows`.
Task swap_rows(const Team& team, const std::vector<ClientMembers>& clients, const Places& places,
               const Bytes& rows) {
  const Bytes outgoing(places.all_bytes());
  const Bytes incoming(places.all_bytes());
  places.sort_outgoing(rows, outgoing);
  co_await among_masters(team, clients, places, outgoing, incoming);
  places.sort_incoming(incoming, rows);
}

}  // namespace

Task alltoall_together(const Team& team, std::span<const ConstData> to,
                       std::span<const Data> from) {
  const Membership& membership = team.membership;
  const wire::Format format = transit_format(team.limits);
  const std::size_t block = packed_bytes(from[0], format);
  const std::size_t locals = membership.spanning_ranks.size();
  // Data that stays inside the client is not converted.
  const bool inside_too =
      format == wire::Format::kNative && block <= kInsideByMaster / (locals * locals);
  auto clients = by_client(membership);
  if (!inside_too)
    std::erase_if(clients,
                  [&](const ClientMembers& each) { return each.client == membership.my_client(); });
  const ConstPackedBlocks own(in_order(to, clients), format);
  co_await own.packed();
  const Places places(clients, locals, block);
  const bool is_master = membership.local_rank(membership.rank) == 0;
  const Bytes rows(is_master ? places.all_bytes() : 0);
  co_await team.local.gather(own.bytes(), rows.all(), 0);
  if (is_master) co_await swap_rows(team, clients, places, rows);
  PackedBlocks received(in_order(from, clients), format);
  const MemberSizes sizes(team, places.row_bytes());
  Pending& handed_on = team.local.scatterv(rows.all(), sizes.all(), received.room(), 0);
  if (!inside_too) co_await straight_inside(team, to, from);
  co_await handed_on;
  co_await received.unpack();
}

}  // namespace impishim::collectives
