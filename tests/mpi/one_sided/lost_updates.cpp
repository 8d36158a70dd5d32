// SPDX-License-Identifier: Apache-2.0
// What the rule of accumulates is for (docs/one-sided.md): long accumulates of ranks of all systems
// meet in one array. By the rule none is lost. With the hint impishim_accumulate=vendor those
// inside a system go another way than the others, and some are lost: so the test sees what it is to
// see.
//
// usage: lost_updates MOST_ROUNDS [value of the hint impishim_accumulate]
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/support/check.hpp"

namespace {

constexpr int kElements = 20'000;
constexpr int kAtOnce = 100;

/// Adds one to each element of rank 0's array many times, on every other rank at the same time.
/// Returns how many elements differ from the exact sum on rank 0.
int round_of_sums(const std::vector<int>& ones, int* memory, MPI_Win window) {
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  if (rank == 0) std::fill_n(memory, kElements, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (int i = 0; rank != 0 && i < kAtOnce; ++i)
    MPI_Accumulate(ones.data(), kElements, MPI_INT, 0, 0, kElements, MPI_INT, MPI_SUM, window);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int wrong = 0;
  if (rank == 0) {
    const int sum = kAtOnce * (ranks - 1);
    wrong = kElements - static_cast<int>(std::count(memory, memory + kElements, sum));
  }
  MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Info hints = MPI_INFO_NULL;
  REQUIRE(argc > 1);
  const int most_rounds = std::atoi(argv[1]);
  if (argc > 2) {
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "impishim_accumulate", argv[2]);
  }
  const bool mine = impishim_test::rank_in(MPI_COMM_WORLD) == 0;
  int* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(mine ? static_cast<MPI_Aint>(sizeof(int)) * kElements : 0, sizeof(int), hints,
                   MPI_COMM_WORLD, static_cast<void*>(&memory), &window);
  const std::vector<int> ones(kElements, 1);
  int rounds = 0;
  int lost = 0;
  while (lost == 0 && rounds++ < most_rounds) lost = round_of_sums(ones, memory, window);
  if (mine) std::printf("updates were %s\n", lost == 0 ? "exact" : "lost");
  if (mine) std::fprintf(stderr, "%d rounds, %d elements wrong\n", rounds, lost);
  MPI_Win_free(&window);
  if (hints != MPI_INFO_NULL) MPI_Info_free(&hints);
  MPI_Finalize();
  return 0;
}
