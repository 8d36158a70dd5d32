// SPDX-License-Identifier: Apache-2.0
// Rank 0 and the last rank exchange a message, rank 0 says so, and all ranks wait for one that
// never comes. With the argument "say", rank 0 sends the last rank a known text instead; with
// "leave", the last rank ends without MPI_Finalize; with "compute", it sends the message after 16 s
// without a call of MPI.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/support/check.hpp"

namespace {

int say(int rank, int last) {
  std::array<char, 64> text{"the pass phrase of the job"};
  constexpr int kSize = static_cast<int>(text.size());
  if (rank == 0) MPI_Send(text.data(), kSize, MPI_CHAR, last, 0, MPI_COMM_WORLD);
  if (rank == last) {
    text = {};
    MPI_Recv(text.data(), kSize, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::printf("heard: %s\n", text.data());
  }
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int last = impishim_test::size_of(MPI_COMM_WORLD) - 1;
  if (argc > 1 && std::strcmp(argv[1], "say") == 0) return say(rank, last);
  int value = rank;
  if (rank == 0 || rank == last) {
    MPI_Sendrecv_replace(&value, 1, MPI_INT, last - rank, 0, last - rank, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(value, last - rank);
  }
  if (rank == 0) std::printf("talking\n");
  std::fflush(stdout);
  if (argc > 1 && std::strcmp(argv[1], "leave") == 0 && rank == last) std::quick_exit(0);
  if (argc > 1 && std::strcmp(argv[1], "compute") == 0) {
    // The time is what is tested: nothing happens that could be awaited.
    if (rank == last) std::this_thread::sleep_for(std::chrono::seconds(16));
    if (rank == last) MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
  }
  MPI_Recv(&value, 1, MPI_INT, last - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::fprintf(stderr, "a message that nobody sent has come\n");
  return 4;
}
