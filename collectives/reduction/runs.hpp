/// In which parts the clients reduce before they meet.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"

namespace impishim::collectives {

/// Ranks that one client reduces by itself.
struct Run {
  std::int32_t client = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// Runs of consecutive ranks of one client, ascending: no operation needs more parts.
[[nodiscard]] std::vector<Run> runs_of_ranks(const Shape& shape);
/// What reductions need: all of a client for each client, in the order of masters, if the operation
/// commutes; runs otherwise.
[[nodiscard]] std::vector<Run> runs_for(const Shape& shape, const Reduction& operation);
/// One run for each client.
[[nodiscard]] bool one_for_each_client(const std::vector<Run>& runs, const Shape& shape);
/// Number of those that belong to `client`.
[[nodiscard]] std::uint64_t runs_of(const std::vector<Run>& runs, std::int32_t client);

/// Reduces each run of this client to the client's `speaker`: there, the results lie in `results`
/// one after another.
Task reduce_runs(const Team& team, const std::vector<Run>& runs, ConstData contribution,
                 Data results, const Reduction& operation, std::int32_t speaker);

/// Members of each client, by number of client.
[[nodiscard]] std::vector<std::int32_t> member_counts(const Shape& shape);
/// The n-th member of each client, n counted from 0; each has as many.
[[nodiscard]] std::vector<std::int32_t> nth_members(const Shape& shape, std::int32_t n);

}  // namespace impishim::collectives
