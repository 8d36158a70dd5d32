// SPDX-License-Identifier: Apache-2.0
/// Ranks grouped by client.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/core/groups.hpp"

namespace impishim::collectives {

/// A range of consecutive ranks: a whole communicator, or one group of an intercommunicator.
struct RankRange {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

/// The members of one client in a range, ascending.
struct ClientMembers {
  std::int32_t client = 0;
  std::vector<std::int32_t> ranks;
  [[nodiscard]] std::int32_t master() const { return ranks.front(); }
  [[nodiscard]] std::size_t size() const { return ranks.size(); }
  /// Returns the position of `rank`, which must be a member.
  [[nodiscard]] std::size_t index_of(std::int32_t rank) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(ranks, rank) - ranks.begin());
  }
};

/// Returns the clients that have members in `range`, ordered by their lowest members.
[[nodiscard]] inline std::vector<ClientMembers> by_client(const Membership& membership,
                                                          const RankRange& range) {
  struct Place {
    std::size_t members = 0;
    std::int32_t at = -1;
  };
  std::vector<Place> places(static_cast<std::size_t>(membership.client_count()));
  const auto place_of = [&](std::int32_t rank) -> Place& {
    return places[static_cast<std::size_t>(membership.client_of(rank))];
  };
  const std::int32_t end = range.first + range.count;
  for (std::int32_t rank = range.first; rank < end; ++rank) ++place_of(rank).members;
  std::vector<ClientMembers> clients;
  clients.reserve(places.size());
  for (std::int32_t rank = range.first; rank < end; ++rank) {
    Place& place = place_of(rank);
    if (place.at < 0) {
      place.at = static_cast<std::int32_t>(clients.size());
      clients.push_back({membership.client_of(rank), {}});
      clients.back().ranks.reserve(place.members);
    }
    clients[static_cast<std::size_t>(place.at)].ranks.push_back(rank);
  }
  return clients;
}

[[nodiscard]] inline std::vector<ClientMembers> by_client(const Membership& membership) {
  return by_client(membership, {0, membership.size()});
}

/// Returns the entry of this process's client, or null if the client has no member in the range.
[[nodiscard]] inline const ClientMembers* own_client(const Membership& membership,
                                                     const std::vector<ClientMembers>& clients) {
  const auto own = std::ranges::find(clients, membership.my_client(), &ClientMembers::client);
  return own == clients.end() ? nullptr : &*own;
}

}  // namespace impishim::collectives
