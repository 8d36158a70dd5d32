// SPDX-License-Identifier: Apache-2.0
// Rank 0 and the last rank exchange a message, rank 0 says so, and all ranks wait for one that
// never comes.
#include <cstdio>

#include "tests/support/check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int last = impishim_test::size_of(MPI_COMM_WORLD) - 1;
  int value = rank;
  if (rank == 0 || rank == last) {
    MPI_Sendrecv_replace(&value, 1, MPI_INT, last - rank, 0, last - rank, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(value, last - rank);
  }
  if (rank == 0) std::printf("talking\n");
  std::fflush(stdout);
  MPI_Recv(&value, 1, MPI_INT, last - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::fprintf(stderr, "a message that nobody sent has come\n");
  return 4;
}
