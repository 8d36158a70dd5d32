// SPDX-License-Identifier: Apache-2.0
/// Processes of several connected jobs: each process numbers those of other jobs in its own way, so
/// messages name them by host and process id.
#pragma once

#include <cstddef>
#include <vector>

#include "shim/values/rank_list.hpp"

namespace impishim::shim {

struct Job;

/// Returns true if some of these processes belong to another job.
[[nodiscard]] bool has_other_jobs(const Job& job, const RankList& ranks);

/// Replaces the world rank of each process of another job by the latest one. A process that is
/// connected several times has several.
void use_latest_ranks(const Job& job, RankList& ranks);

/// The size of a process's name.
inline constexpr std::size_t kProcNameBytes = 24;

/// Encodes the names of processes, one after the other.
[[nodiscard]] std::vector<std::byte> names_of(const Job& job, const RankList& ranks);
/// Returns the world ranks, as this process counts, of the processes that names_of() has named: of
/// a process that is connected several times, the latest. Returns an empty list if one is not known
/// here.
[[nodiscard]] RankList ranks_named(const Job& job, const std::vector<std::byte>& names);

}  // namespace impishim::shim
