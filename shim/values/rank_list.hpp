// SPDX-License-Identifier: Apache-2.0
/// Groups as lists of world ranks: the set operations of MPI-3.1 6.3, with no MPI type or function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

/// A group's members in rank order; no process twice.
using RankList = std::vector<wire::WorldRank>;

/// What a rank of another group is in this one if its process is no member.
inline constexpr std::int32_t kNoMember = -1;

/// (first, last, stride) of ranks in a group, as MPI_Group_range_incl takes them.
struct RankRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int32_t stride = 1;
};

enum class Likeness { kIdentical, kSimilar, kUnequal };

/// Rank of a process in a group, or kNoMember.
[[nodiscard]] std::int32_t rank_of(const RankList& group, wire::WorldRank process);
/// Ranks of all processes of `processes` in `group`, or kNoMember.
[[nodiscard]] std::vector<std::int32_t> ranks_of(const RankList& group,
                                                 std::span<const wire::WorldRank> processes);

/// The same members in the same order; the same in another order; others.
[[nodiscard]] Likeness compare(const RankList& one, const RankList& two);

/// Orders as MPI-3.1 6.3.2 has them: that of the first group, then that of the second.
[[nodiscard]] RankList union_of(const RankList& one, const RankList& two);
[[nodiscard]] RankList intersection_of(const RankList& one, const RankList& two);
[[nodiscard]] RankList difference_of(const RankList& one, const RankList& two);

/// The members with these ranks, in the order of `ranks`; those without them, in the order of the
/// group. kConfiguration: a rank is out of range, or is there twice.
[[nodiscard]] Result<RankList> included(const RankList& group, std::span<const std::int32_t> ranks);
[[nodiscard]] Result<RankList> excluded(const RankList& group, std::span<const std::int32_t> ranks);

/// The ranks of all ranges, one after the other. kConfiguration: a range does not lead from its
/// first to its last rank, or one of the two is not in a group of `size`.
[[nodiscard]] Result<std::vector<std::int32_t>> expanded(std::span<const RankRange> ranges,
                                                         std::int32_t size);

}  // namespace impishim::shim
