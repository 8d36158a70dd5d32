// SPDX-License-Identifier: Apache-2.0
// Communicators made and freed again and again take no more memory, and ids for them do not run
// out. Argument: how many rounds.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

/// Returns how much memory may be added, in KiB. AddressSanitizer, which tests load before the
/// program, keeps up to 256 MiB of what has been freed.
long most_growth() { return dlsym(RTLD_DEFAULT, "__asan_init") == nullptr ? 2048 : 400L * 1024; }

/// Resident memory of this process, in KiB.
long resident() {
  long total = 0;
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr && std::fscanf(file, "%ld %ld", &total, &pages) == 2);
  std::fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

void exchange(MPI_Comm comm) {
  const int to = (rank_in(comm) + 1) % size_of(comm);
  int value = -1;
  const int mine = rank_in(comm);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &request);
  MPI_Send(&mine, 1, MPI_INT, to, 0, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL((value + 1) % size_of(comm), mine);
}

void round_of(MPI_Comm grid, MPI_Request* kept) {
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  exchange(made);
  // One that is in progress when its communicator goes. Not a collective: Open MPI's own may not
  // outlive it.
  MPI_Wait(kept, MPI_STATUS_IGNORE);
  static int kept_value = 0;
  MPI_Irecv(&kept_value, 1, MPI_INT, MPI_ANY_SOURCE, 1, made, kept);
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size_of(made), 1, made);
  MPI_Comm_free(&made);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made);
  exchange(made);
  MPI_Comm_free(&made);
  const int remain[] = {1, 0};
  MPI_Cart_sub(grid, remain, &made);
  exchange(made);
  MPI_Comm_free(&made);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
  const int dims[] = {2, size_of(MPI_COMM_WORLD) / 2};
  const int periods[] = {0, 0};
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Request kept = MPI_REQUEST_NULL;
  const int warm = rounds / 3;
  long before = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round == warm) before = resident();
    round_of(grid, &kept);
  }
  MPI_Wait(&kept, MPI_STATUS_IGNORE);
  const long grown = resident() - before;
  if (grown > most_growth())
    std::fprintf(stderr, "%ld KiB more after %d rounds\n", grown, rounds - warm);
  REQUIRE(grown <= most_growth());
  MPI_Comm_free(&grid);
  if (rank_in(MPI_COMM_WORLD) == 0) std::printf("%d rounds: memory is bounded\n", rounds);
  MPI_Finalize();
}
