// SPDX-License-Identifier: Apache-2.0
/// Groups as lists of world ranks: the set operations of MPI-3.1 6.3, with no MPI type or function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

/// The members of a group in rank order; no process twice.
using RankList = std::vector<wire::WorldRank>;

/// Result for a process that is not a member of the group.
inline constexpr std::int32_t kNoMember = -1;

/// A range (first, last, stride) of ranks in a group, as MPI_Group_range_incl takes it.
struct RankRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int32_t stride = 1;
};

enum class Likeness { kIdentical, kSimilar, kUnequal };

/// Returns the rank of a process in a group, or kNoMember.
[[nodiscard]] std::int32_t rank_of(const RankList& group, wire::WorldRank process);
/// Returns the rank in `group`, or kNoMember, of each process of `processes`.
[[nodiscard]] std::vector<std::int32_t> ranks_of(const RankList& group,
                                                 std::span<const wire::WorldRank> processes);

/// Compares two groups. kIdentical: the same members in the same order; kSimilar: the same members
/// in another order; kUnequal: other members.
[[nodiscard]] Likeness compare(const RankList& one, const RankList& two);

/// Return the union, intersection and difference of two groups. The order is that of MPI-3.1 6.3.2:
/// that of the first group, then that of the second.
[[nodiscard]] RankList union_of(const RankList& one, const RankList& two);
[[nodiscard]] RankList intersection_of(const RankList& one, const RankList& two);
[[nodiscard]] RankList difference_of(const RankList& one, const RankList& two);

/// Returns the members with these ranks, in the order of `ranks`; excluded() returns the other
/// members, in the order of the group. Errors: kConfiguration if a rank is out of range, or is
/// there twice.
[[nodiscard]] Result<RankList> included(const RankList& group, std::span<const std::int32_t> ranks);
[[nodiscard]] Result<RankList> excluded(const RankList& group, std::span<const std::int32_t> ranks);

/// Returns the ranks of all ranges, one range after the other. Errors: kConfiguration if a range
/// does not lead from its first to its last rank, or one of the two is not in a group of `size`.
[[nodiscard]] Result<std::vector<std::int32_t>> expanded(std::span<const RankRange> ranges,
                                                         std::int32_t size);

}  // namespace impishim::shim
