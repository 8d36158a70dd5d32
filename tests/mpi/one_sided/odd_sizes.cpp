// SPDX-License-Identifier: Apache-2.0
// Windows whose members allocate memory of different, odd sizes. MPICH 4.0.2 by itself puts to a
// wrong address there, so only joined runs are judged.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kLongest = 13;

/// Each rank puts its number into its place at every other.
void put_everywhere(int bytes) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  char* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  REQUIRE_EQUAL(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window),
                MPI_SUCCESS);
  std::fill(memory, memory + bytes, '\x7f');
  MPI_Win_fence(0, window);
  const char mine = static_cast<char>(rank);
  for (int peer = 0; peer < size; ++peer)
    MPI_Put(&mine, 1, MPI_CHAR, peer, rank, 1, MPI_CHAR, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < bytes; ++i) REQUIRE_EQUAL(memory[i], i < size ? i : 0x7f);
  void* told = nullptr;
  int known = 0;
  MPI_Win_get_attr(window, MPI_WIN_SIZE, static_cast<void*>(&told), &known);
  REQUIRE(known != 0);
  REQUIRE_EQUAL(*static_cast<MPI_Aint*>(told), bytes);
  MPI_Win_free(&window);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  for (int bytes = size; bytes <= kLongest; ++bytes) {
    put_everywhere(bytes);
    put_everywhere(bytes + rank);
  }
  if (rank == 0) std::printf("windows of odd sizes on %d ranks: right\n", size);
  MPI_Finalize();
}
