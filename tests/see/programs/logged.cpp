// SPDX-License-Identifier: Apache-2.0
// A program with something to log in each area of the library.
//
//   logged          a communicator, a collective, a shuffle
//   logged abort    the same, then rank 1 ends the job
//   logged api FILE sets the log to FILE by impishim_configure_log(), then the same
#include <impishim/shuffle.h>
#include <mpi.h>

#include <cstdio>
#include <string>

#include "tests/support/check.hpp"

namespace {

void take(int /*source*/, int /*destination*/, unsigned /*type*/, const void* /*data*/,
          size_t /*bytes*/, void* count) {
  ++*static_cast<int*>(count);
}

void shuffle_one_message(int rank, int size) {
  int count = 0;
  impishim_shuffle* shuffle = nullptr;
  REQUIRE(impishim_shuffle_init(&shuffle, nullptr, take, &count) == MPI_SUCCESS);
  REQUIRE(impishim_shuffle_enqueue(shuffle, (rank + 1) % size, 7, &rank, sizeof(rank)) ==
          MPI_SUCCESS);
  REQUIRE(impishim_shuffle_shutdown(&shuffle) == MPI_SUCCESS);
  REQUIRE(count == 1);
}

void set_log(const char* file) {
  impishim_log_options options{"warn,shuffle=info", file, nullptr, nullptr, nullptr};
  REQUIRE(impishim_configure_log(&options) == MPI_SUCCESS);
  options = {"shuffle=loud", "elsewhere", nullptr, nullptr, nullptr};
  REQUIRE(impishim_configure_log(&options) == MPI_ERR_ARG);
  REQUIRE(impishim_configure_log(nullptr) == MPI_ERR_ARG);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (mode == "api") set_log(argv[2]);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
  REQUIRE(sum == size * (size - 1) / 2);
  shuffle_one_message(rank, size);
  MPI_Comm_free(&copy);
  std::printf("rank %d: logged\n", rank);
  std::fflush(stdout);
  if (mode == "abort") {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
