// SPDX-License-Identifier: Apache-2.0
// What is put before a fence is seen by every access behind it, whichever process makes that:
// no access overtakes the fence of its target. One rank's puts are long, so that its target is
// late.
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kRounds = 60;
constexpr int kCount = 40'000;

/// In each round one rank fills the memory of another, and all others get its last element.
void run(MPI_Win window, std::vector<int>& memory, int from, int to) {
  const int rank = rank_in(MPI_COMM_WORLD);
  for (int round = 0; round < kRounds; ++round) {
    const int mark = 1000 * (1 + from) + round;
    const std::vector<int> data(kCount, mark);
    MPI_Win_fence(0, window);
    if (rank == from) MPI_Put(data.data(), kCount, MPI_INT, to, 0, kCount, MPI_INT, window);
    MPI_Win_fence(0, window);
    int last = -1;
    MPI_Get(&last, 1, MPI_INT, to, kCount - 1, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    REQUIRE_EQUAL(last, mark);
    if (rank == to) REQUIRE(memory == data);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  std::vector<int> memory(kCount);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * sizeof(int)), sizeof(int),
                 MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  run(window, memory, 0, size - 1);
  run(window, memory, size - 1, 1);
  MPI_Win_free(&window);
  if (rank == 0) std::printf("fences of %d ranks: right\n", size);
  MPI_Finalize();
}
