// SPDX-License-Identifier: Apache-2.0
// The last rank stops itself in the middle of a stream that fills the road to it, until a test lets
// it go on.
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"

int main(int argc, char** argv) {
  constexpr int kBytes = 8 << 20;
  constexpr int kMessages = 16;
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int last = impishim_test::size_of(MPI_COMM_WORLD) - 1;
  std::vector<unsigned char> data(kBytes);
  for (int message = 0; message < kMessages; ++message) {
    if (rank == 0) {
      data.assign(data.size(), static_cast<unsigned char>(message));
      MPI_Send(data.data(), kBytes, MPI_UNSIGNED_CHAR, last, 0, MPI_COMM_WORLD);
    }
    if (rank == last) {
      if (message == 2) {
        std::printf("stopped: %d\n", static_cast<int>(getpid()));
        std::fflush(stdout);
        std::raise(SIGSTOP);
      }
      MPI_Recv(data.data(), kBytes, MPI_UNSIGNED_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      REQUIRE_EQUAL(data.front(), message);
      REQUIRE_EQUAL(data.back(), message);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == last) std::printf("all received\n");
  MPI_Finalize();
  return 0;
}
