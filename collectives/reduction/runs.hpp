// SPDX-License-Identifier: Apache-2.0
/// The parts in which the clients reduce before they communicate.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"

namespace impishim::collectives {

/// Ranks that one client reduces by itself: consecutive ranks, or all of the client's ranks
/// (runs_for()).
struct Run {
  std::int32_t client = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// Returns the runs of consecutive ranks of one client, ascending. No operation needs more parts.
[[nodiscard]] std::vector<Run> runs_of_ranks(const Shape& shape);
/// Returns the parts for `operation`. If it commutes, there is one part for each client, in the
/// order of masters; otherwise the parts are the runs of ranks.
[[nodiscard]] std::vector<Run> runs_for(const Shape& shape, const Reduction& operation);
/// Returns true if there is one run for each client.
[[nodiscard]] bool one_for_each_client(const std::vector<Run>& runs, const Shape& shape);
/// Returns the number of runs that belong to `client`.
[[nodiscard]] std::uint64_t runs_of(const std::vector<Run>& runs, std::int32_t client);

/// Reduces each run of this client to the client's `speaker`. There the results lie in `results`
/// one after another.
Task reduce_runs(const Team& team, const std::vector<Run>& runs, ConstData contribution,
                 Data results, const Reduction& operation, std::int32_t speaker);

/// Returns the number of members of each client, indexed by client.
[[nodiscard]] std::vector<std::int32_t> member_counts(const Shape& shape);
/// Returns the n-th member of each client, counted from 0, or -1 for a client with fewer members.
[[nodiscard]] std::vector<std::int32_t> nth_members(const Shape& shape, std::int32_t n);

}  // namespace impishim::collectives
