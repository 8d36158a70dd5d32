// SPDX-License-Identifier: Apache-2.0
/// The parts in which the clients reduce before they communicate.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"

namespace impishim::collectives {

/// Ranks that one client reduces by itself: consecutive ranks, or all of the client's ranks
/// (ranges_for()).
struct ClientRange {
  std::int32_t client = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// Returns the ranges of consecutive ranks of one client, ascending. No operation needs more parts.
[[nodiscard]] std::vector<ClientRange> ranges_of_ranks(const Membership& membership);
/// Returns the parts for `operation`. If it commutes, there is one part for each client, in the
/// order of masters; otherwise the parts are the ranges of ranks.
[[nodiscard]] std::vector<ClientRange> ranges_for(const Membership& membership,
                                                  const Reduction& operation);
/// Returns true if there is one range for each client.
[[nodiscard]] bool one_for_each_client(const std::vector<ClientRange>& ranges,
                                       const Membership& membership);
/// Returns the number of ranges that belong to `client`.
[[nodiscard]] std::uint64_t number_of_ranges(const std::vector<ClientRange>& ranges,
                                             std::int32_t client);

/// Reduces each range of this client to the client's `speaker`. There the results lie in `results`
/// one after another.
Task reduce_ranges(const Team& team, const std::vector<ClientRange>& ranges, ConstData contribution,
                   Data results, const Reduction& operation, std::int32_t speaker);

/// Returns the number of members of each client, indexed by client.
[[nodiscard]] std::vector<std::int32_t> member_counts(const Membership& membership);
/// Returns the n-th member of each client, counted from 0, or -1 for a client with fewer members.
[[nodiscard]] std::vector<std::int32_t> nth_members(const Membership& membership, std::int32_t n);

}  // namespace impishim::collectives
