// SPDX-License-Identifier: Apache-2.0
#include "shim/coll/single_system_team.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace impishim::shim {
namespace {

std::vector<std::int32_t> ranks_below(int size) {
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<std::int32_t> only(int rank, int size) {
  std::vector<std::int32_t> local_ranks(static_cast<std::size_t>(size), -1);
  local_ranks[static_cast<std::size_t>(rank)] = 0;
  return local_ranks;
}

}  // namespace

SingleSystemTeam::SingleSystemTeam(MPI_Comm companion, int rank, int size, std::int32_t first_tag)
    : ranks_(ranks_below(size)),
      local_ranks_(only(rank, size)),
      membership_{rank, ranks_, ranks_, local_ranks_,
                  std::span(ranks_).subspan(static_cast<std::size_t>(rank), 1)},
      alone_(MPI_COMM_NULL, 0, 1),
      messages_(companion, first_tag),
      team_{membership_, limits_, alone_, messages_} {}

}  // namespace impishim::shim
