// SPDX-License-Identifier: Apache-2.0
// A program for the trace: four ranks in two systems of two.
//
//   traced long N     a message of N bytes from each rank to the one in the other system
//   traced rounds N   N messages of 8 bytes between ranks 0 and 2, back and forth
//   traced abort      each rank sends one message, then rank 1 calls MPI_Abort
//   traced die       likewise, and rank 1 is killed
//   traced threads    two threads of each rank exchange messages at the same time
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"

namespace {

constexpr int kSize = 4;

/// Exchanges a message of this size with the rank of the other system.
void exchange(int rank, std::size_t bytes, int tag) {
  const std::vector<char> out(bytes);
  std::vector<char> in(bytes);
  const int peer = (rank + 2) % kSize;
  const auto count = static_cast<int>(bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(in.data(), count, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request);
  MPI_Send(out.data(), count, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
  REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

void go_back_and_forth(int rank, int rounds) {
  std::int64_t value = 0;
  for (int i = 0; i < rounds && rank % 2 == 0; ++i) {
    if (rank == 0) MPI_Send(&value, 1, MPI_INT64_T, 2, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT64_T, 2 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 2) MPI_Send(&value, 1, MPI_INT64_T, 0, 0, MPI_COMM_WORLD);
  }
}

void exchange_in_threads(int rank) {
  constexpr int kMessages = 20;
  std::array<std::thread, 2> threads;
  for (std::size_t tag = 0; tag < threads.size(); ++tag) {
    threads[tag] = std::thread([rank, tag] {
      for (int i = 0; i < kMessages; ++i) exchange(rank, 64, static_cast<int>(tag));
    });
  }
  for (std::thread& each : threads) each.join();
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc > 1);
  const std::string mode = argv[1];
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  int level = MPI_THREAD_SINGLE;
  const int wanted = mode == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, wanted, &level);
  REQUIRE(level >= wanted);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  REQUIRE(size == kSize);
  if (mode == "long") exchange(rank, static_cast<std::size_t>(number), 0);
  if (mode == "rounds") go_back_and_forth(rank, number);
  if (mode == "threads") exchange_in_threads(rank);
  if (mode == "abort" || mode == "die") {
    exchange(rank, 8, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && mode == "die") kill(getpid(), SIGKILL);
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
