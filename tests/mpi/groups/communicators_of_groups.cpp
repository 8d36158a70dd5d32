// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_create and MPI_Comm_create_group with all groups of the first four processes in every
// order, with disjoint groups at once, and with groups that are wrong.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::check_members;
using impishim_test::rank_in;
using impishim_test::size_of;
using Ranks = std::vector<int>;

MPI_Group group_of(MPI_Comm parent, const Ranks& ranks) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group made = MPI_GROUP_NULL;
  MPI_Comm_group(parent, &all);
  MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &made);
  MPI_Group_free(&all);
  return made;
}

bool has(const Ranks& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// World ranks of ranks in the parent.
Ranks in_world(MPI_Comm parent, const Ranks& ranks) {
  const Ranks members = impishim_test::members_of(parent);
  Ranks result;
  for (const int rank : ranks) result.push_back(members[static_cast<std::size_t>(rank)]);
  return result;
}

void check_made(MPI_Comm parent, MPI_Comm made, const Ranks& ranks) {
  if (!has(ranks, rank_in(parent))) {
    REQUIRE(made == MPI_COMM_NULL);
    return;
  }
  check_members(made, in_world(parent, ranks));
  int comparison = -1;
  MPI_Comm_compare(parent, made, &comparison);
  const bool all = static_cast<int>(ranks.size()) == size_of(parent);
  REQUIRE_EQUAL(comparison, !all                                         ? MPI_UNEQUAL
                            : std::is_sorted(ranks.begin(), ranks.end()) ? MPI_CONGRUENT
                                                                         : MPI_SIMILAR);
  REQUIRE_EQUAL(MPI_Comm_free(&made), MPI_SUCCESS);
}

void check_both(MPI_Comm parent, const Ranks& ranks, int tag) {
  MPI_Group group = group_of(parent, ranks);
  MPI_Comm made = MPI_COMM_WORLD;
  REQUIRE_EQUAL(MPI_Comm_create(parent, group, &made), MPI_SUCCESS);
  check_made(parent, made, ranks);
  if (has(ranks, rank_in(parent))) {
    REQUIRE_EQUAL(MPI_Comm_create_group(parent, group, tag, &made), MPI_SUCCESS);
    check_made(parent, made, ranks);
  }
  if (group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
}

void check_all_groups(MPI_Comm parent) {
  const int processes = std::min(size_of(parent), 4);
  int tag = 0;
  for (int mask = 0; mask < 1 << processes; ++mask) {
    Ranks ranks;
    for (int process = 0; process < processes; ++process) {
      if ((mask >> process & 1) != 0) ranks.push_back(process);
    }
    do check_both(parent, ranks, tag++);
    while (std::next_permutation(ranks.begin(), ranks.end()));
  }
}

/// Several communicators in one call (MPI-3.1 6.4.2), and several meetings of groups at once, each
/// with its own tag.
void check_disjoint_groups(MPI_Comm parent) {
  const int size = size_of(parent);
  const int rank = rank_in(parent);
  for (const int parts : {2, 3}) {
    Ranks ranks;
    for (int each = size - 1; each >= 0; --each) {
      if (each % parts == rank % parts) ranks.push_back(each);
    }
    check_both(parent, ranks, rank % parts);
  }
}

/// Overlapping groups, one after the other on some processes and the only one on others.
void check_overlapping_groups(MPI_Comm parent) {
  const int size = size_of(parent);
  const int rank = rank_in(parent);
  for (int first = 0; first + 1 < size; ++first) {
    const Ranks pair{first, first + 1};
    if (!has(pair, rank)) continue;
    MPI_Group group = group_of(parent, pair);
    MPI_Comm made = MPI_COMM_NULL;
    REQUIRE_EQUAL(MPI_Comm_create_group(parent, group, 7, &made), MPI_SUCCESS);
    check_made(parent, made, pair);
    MPI_Group_free(&group);
  }
}

void check_wrong_groups() {
  const int size = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1 ? 1 : 0, 0, &part);
  MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN);
  Ranks everybody;
  for (int each = 0; each < size; ++each) everybody.push_back(each);
  MPI_Group world = group_of(MPI_COMM_WORLD, everybody);
  MPI_Comm made = MPI_COMM_NULL;
  REQUIRE(MPI_Comm_create(part, world, &made) != MPI_SUCCESS);
  MPI_Group_free(&world);
  MPI_Comm_free(&part);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  // First of all: MPICH 4.0.2 crashes where nobody has asked for the communicator's group before.
  check_overlapping_groups(MPI_COMM_WORLD);
  MPI_Comm dealt = impishim_test::world_dealt();
  for (MPI_Comm parent : {MPI_COMM_WORLD, dealt}) {
    check_all_groups(parent);
    check_disjoint_groups(parent);
    check_overlapping_groups(parent);
  }
  MPI_Comm_free(&dealt);
  if (impishim_test::in_joined_job()) check_wrong_groups();
  if (rank == 0) std::printf("communicators of groups of %d ranks: right\n", size);
  MPI_Finalize();
  return 0;
}
