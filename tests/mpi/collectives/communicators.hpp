// SPDX-License-Identifier: Apache-2.0
/// The communicators on which every program here tries its functions.
#pragma once

#include <mpi.h>

#include <cstdio>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace impishim_test {

/// Calls `check(comm, name)` on the world, a copy of it, the world backwards, the world with ranks
/// dealt from both ends, and its halves of odd and even ranks.
template <class Check>
void on_each_communicator(Check&& check) {
  check(MPI_COMM_WORLD, "world");
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  check(comm, "copy");
  MPI_Comm_free(&comm);
  comm = world_backwards();
  check(comm, "backwards");
  MPI_Comm_free(&comm);
  comm = world_dealt();
  check(comm, "dealt");
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, rank_in(MPI_COMM_WORLD) % 2, 0, &comm);
  check(comm, "halves");
  MPI_Comm_free(&comm);
}

/// Rank 0 of the world says that all went well.
inline int finish(const char* what) {
  if (rank_in(MPI_COMM_WORLD) == 0) std::printf("%s: well\n", what);
  MPI_Finalize();
  return 0;
}

}  // namespace impishim_test
