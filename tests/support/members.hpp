// SPDX-License-Identifier: Apache-2.0
/// World ranks behind groups and communicators, for programs that check who is in them.
#pragma once

#include <mpi.h>

#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/support/check.hpp"

namespace impishim_test {

/// The program runs in a joined job: native libraries do not find every error, this one does.
inline bool in_joined_job() { return std::getenv("IMPISHIM_SERVER") != nullptr; }

/// World ranks of a group's members, in its order.
inline std::vector<int> world_ranks(MPI_Group group) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int size = -1;
  MPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> translated(ranks.size(), -1);
  if (size > 0) MPI_Group_translate_ranks(group, size, ranks.data(), world, translated.data());
  MPI_Group_free(&world);
  return translated;
}

/// Of a communicator's local group.
inline std::vector<int> members_of(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &group);
  const auto members = world_ranks(group);
  if (group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
  return members;
}

/// Of an intercommunicator's remote group.
inline std::vector<int> remote_members_of(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_remote_group(comm, &group);
  const auto members = world_ranks(group);
  MPI_Group_free(&group);
  return members;
}

/// A copy of the world in another order: processes with lower keys first.
inline MPI_Comm world_by(int key) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, key, &comm);
  return comm;
}
inline MPI_Comm world_backwards() { return world_by(-rank_in(MPI_COMM_WORLD)); }
/// Dealt from both ends: the first process, the last one, the second, and so on, so that systems
/// alternate.
inline MPI_Comm world_dealt() {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  return world_by(rank < size / 2 ? 2 * rank : 2 * (size - rank) - 1);
}

/// `comm` has these members in this order, and carries messages and collectives between them.
inline void check_members(MPI_Comm comm, const std::vector<int>& members) {
  const int size = static_cast<int>(members.size());
  REQUIRE_EQUAL(size_of(comm), size);
  const int rank = rank_in(comm);
  REQUIRE(rank >= 0 && rank < size);
  const int world_rank = rank_in(MPI_COMM_WORLD);
  REQUIRE_EQUAL(members[static_cast<std::size_t>(rank)], world_rank);
  REQUIRE(members_of(comm) == members);

  std::vector<int> everybody(members.size(), -1);
  MPI_Allgather(&world_rank, 1, MPI_INT, everybody.data(), 1, MPI_INT, comm);
  REQUIRE(everybody == members);

  // Round the ring in both directions.
  for (const int step : {1, size - 1}) {
    int from = -1;
    MPI_Status status;
    MPI_Sendrecv(&world_rank, 1, MPI_INT, (rank + step) % size, 5, &from, 1, MPI_INT,
                 (rank + size - step) % size, 5, comm, &status);
    REQUIRE_EQUAL(from, members[static_cast<std::size_t>((rank + size - step) % size)]);
    REQUIRE_EQUAL(status.MPI_SOURCE, (rank + size - step) % size);
  }
  long sum = 0;
  const long mine = world_rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
  REQUIRE_EQUAL(sum, std::accumulate(members.begin(), members.end(), static_cast<long>(size)));
}

}  // namespace impishim_test
