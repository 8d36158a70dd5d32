// SPDX-License-Identifier: Apache-2.0
#include "shim/values/rank_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include "wire/base/result.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// The members of a group, for repeated lookups.
class Members {
 public:
  explicit Members(const RankList& group) : members_(group.begin(), group.end()) {}
  [[nodiscard]] bool contain(wire::WorldRank process) const { return members_.count(process) != 0; }

 private:
  std::unordered_set<wire::WorldRank> members_;
};

template <class Keep>
RankList filtered(const RankList& group, Keep&& keep) {
  RankList kept;
  std::ranges::copy_if(group, std::back_inserter(kept), keep);
  return kept;
}

/// Returns which ranks are in `ranks`. Errors: kConfiguration if a rank is out of range, or is
/// there twice.
Result<std::vector<bool>> marked(const RankList& group, std::span<const std::int32_t> ranks) {
  std::vector<bool> named(group.size(), false);
  for (const std::int32_t rank : ranks) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= group.size()) {
      return Error{ErrorKind::kConfiguration,
                   fmt::format("rank {} is not in a group of {}", rank, group.size())};
    }
    if (named[static_cast<std::size_t>(rank)]) {
      return Error{ErrorKind::kConfiguration, fmt::format("rank {} is named twice", rank)};
    }
    named[static_cast<std::size_t>(rank)] = true;
  }
  return named;
}

}  // namespace

std::int32_t rank_of(const RankList& group, wire::WorldRank process) {
  const auto found = std::ranges::find(group, process);
  return found == group.end() ? kNoMember : static_cast<std::int32_t>(found - group.begin());
}

std::vector<std::int32_t> ranks_of(const RankList& group,
                                   std::span<const wire::WorldRank> processes) {
  std::unordered_map<wire::WorldRank, std::int32_t> rank;
  for (std::size_t i = 0; i < group.size(); ++i)
    rank.emplace(group[i], static_cast<std::int32_t>(i));
  std::vector<std::int32_t> ranks;
  ranks.reserve(processes.size());
  for (const wire::WorldRank process : processes) {
    const auto found = rank.find(process);
    ranks.push_back(found == rank.end() ? kNoMember : found->second);
  }
  return ranks;
}

Likeness compare(const RankList& one, const RankList& two) {
  if (one == two) return Likeness::kIdentical;
  if (one.size() != two.size()) return Likeness::kUnequal;
  const Members second(two);
  const bool same =
      std::ranges::all_of(one, [&](wire::WorldRank process) { return second.contain(process); });
  return same ? Likeness::kSimilar : Likeness::kUnequal;
}

RankList union_of(const RankList& one, const RankList& two) {
  RankList all = one;
  const RankList more = difference_of(two, one);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

RankList intersection_of(const RankList& one, const RankList& two) {
  const Members second(two);
  return filtered(one, [&](wire::WorldRank process) { return second.contain(process); });
}

RankList difference_of(const RankList& one, const RankList& two) {
  const Members second(two);
  return filtered(one, [&](wire::WorldRank process) { return !second.contain(process); });
}

Result<RankList> included(const RankList& group, std::span<const std::int32_t> ranks) {
  if (auto named = marked(group, ranks); !named) return named.error();
  RankList chosen;
  chosen.reserve(ranks.size());
  for (const std::int32_t rank : ranks) chosen.push_back(group[static_cast<std::size_t>(rank)]);
  return chosen;
}

Result<RankList> excluded(const RankList& group, std::span<const std::int32_t> ranks) {
  const auto named = marked(group, ranks);
  if (!named) return named.error();
  RankList left;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!(*named)[i]) left.push_back(group[i]);
  }
  return left;
}

Result<std::vector<std::int32_t>> expanded(std::span<const RankRange> ranges, std::int32_t size) {
  std::vector<std::int32_t> ranks;
  for (const auto& [first, last, stride] : ranges) {
    for (const std::int32_t end : {first, last}) {
      if (end >= 0 && end < size) continue;
      return Error{ErrorKind::kConfiguration,
                   fmt::format("rank {} of a range is not in a group of {}", end, size)};
    }
    if (stride == 0 || (stride > 0 ? first > last : first < last)) {
      return Error{ErrorKind::kConfiguration,
                   fmt::format("a range from {} to {} in steps of {}", first, last, stride)};
    }
    for (std::int64_t rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride) {
      ranks.push_back(static_cast<std::int32_t>(rank));
    }
  }
  return ranks;
}

}  // namespace impishim::shim
