// SPDX-License-Identifier: Apache-2.0
// Ranks that stand in a collective inside their system while something waits for them that only
// they can do: the program goes on in the end, and each has said what waited. Ranks 0 and 1, and
// ranks 2 and 3, are in one system each.
#include <unistd.h>

#include "tests/support/check.hpp"

namespace {

constexpr int kTag = 5;
constexpr int kGo = 1;
constexpr int kToken = 2;
constexpr int kStandsFor =
    3000000;  ///< microseconds: longer than the time after which a stand is told of

void meet(MPI_Comm pair) {
  const int mine = 1;
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, pair);
  REQUIRE_EQUAL(sum, 2);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  MPI_Comm pair = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
  MPI_Request barrier = MPI_REQUEST_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int value = 0;
  if (rank == 0) {
    // A synchronous message may not complete before its match.
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &request);
    MPI_Send(nullptr, 0, MPI_INT, 2, kGo, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(nullptr, 0, MPI_INT, 2, kToken, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 2) {
    MPI_Recv(nullptr, 0, MPI_INT, 0, kGo, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(30000);
    MPI_Issend(&rank, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD, &request);
    usleep(kStandsFor);
    MPI_Send(nullptr, 0, MPI_INT, 1, kToken, MPI_COMM_WORLD);
  } else {
    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  }
  meet(pair);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 0) REQUIRE_EQUAL(value, 2);
  if (rank != 3) MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  if (rank == 0) std::printf("all have gone on\n");
  MPI_Comm_free(&pair);
  MPI_Finalize();
  return 0;
}
