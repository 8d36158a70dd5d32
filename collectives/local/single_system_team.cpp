// SPDX-License-Identifier: Apache-2.0
#include "collectives/local/single_system_team.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "collectives/core/groups.hpp"

namespace impishim::collectives {
namespace {

std::vector<std::int32_t> ranks_below(std::int32_t size) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<std::int32_t> only(std::int32_t rank, std::int32_t size) {
  std::vector<std::int32_t> local_ranks(static_cast<std::size_t>(size), -1);
  local_ranks[static_cast<std::size_t>(rank)] = 0;
  return local_ranks;
}

}  // namespace

SingleSystemTeam::SingleSystemTeam(MemberTransport& messages, std::int32_t rank, std::int32_t size)
    : ranks_(ranks_below(size)),
      local_ranks_(only(rank, size)),
      membership_{rank, ranks_, ranks_, local_ranks_,
                  std::span(ranks_).subspan(static_cast<std::size_t>(rank), 1)},
      team_{membership_, limits_, alone_, messages} {}

}  // namespace impishim::collectives
