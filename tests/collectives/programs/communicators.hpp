/// The communicators on which every program here tries its functions.
#pragma once

#include <mpi.h>

#include "tests/system/check.hpp"

namespace impishim_test {

/// Calls `check(comm, name)` on the world, a copy of it, the world backwards, the world with ranks dealt from both ends, and
/// its halves of odd and even ranks.
template <class Check>
void on_each_communicator(Check&& check) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  check(MPI_COMM_WORLD, "world");
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  check(comm, "copy");
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm);
  check(comm, "backwards");
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank < size / 2 ? 2 * rank : 2 * (size - rank) - 1, &comm);
  check(comm, "dealt");
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comm);
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
