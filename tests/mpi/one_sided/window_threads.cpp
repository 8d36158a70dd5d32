// SPDX-License-Identifier: Apache-2.0
// Threads of all ranks use one window at once, each a part of its own; others send messages.
#include <mpi.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kThreads = 3;
constexpr int kRounds = 60;

/// Counts in an element of each rank, and puts numbers that are read back.
void use_window(MPI_Win window, int thread) {
  const int size = size_of(MPI_COMM_WORLD);
  const int one = 1;
  const int mine = kThreads + rank_in(MPI_COMM_WORLD) * kThreads + thread;
  for (int round = 0; round < kRounds; ++round) {
    const int target = (round + thread) % size;
    int value = 1000 * round + thread;
    MPI_Accumulate(&one, 1, MPI_INT, target, thread, 1, MPI_INT, MPI_SUM, window);
    MPI_Put(&value, 1, MPI_INT, target, mine, 1, MPI_INT, window);
    MPI_Win_flush(target, window);
    int read = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Rget(&read, 1, MPI_INT, target, mine, 1, MPI_INT, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(read, value);
  }
}

/// Exchanges messages with the rank on the other side of the ring meanwhile.
void send_messages(MPI_Comm comm) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  for (int round = 0; round < kRounds; ++round) {
    int from = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, round, &from, 1, MPI_INT,
                 (rank + size - 1) % size, round, comm, MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(from, (rank + size - 1) % size);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  REQUIRE_EQUAL(provided, MPI_THREAD_MULTIPLE);
  const int size = size_of(MPI_COMM_WORLD);
  std::vector<int> memory(static_cast<std::size_t>(kThreads * (size + 1)), 0);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(memory.data(), static_cast<MPI_Aint>(sizeof(int) * memory.size()), sizeof(int),
                 MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Comm messages = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &messages);
  MPI_Win_lock_all(0, window);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back(use_window, window, thread);
  threads.emplace_back(send_messages, messages);
  for (std::thread& thread : threads) thread.join();
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  int sum = 0;
  for (int thread = 0; thread < kThreads; ++thread) sum += memory[static_cast<std::size_t>(thread)];
  int total = 0;
  MPI_Allreduce(&sum, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  REQUIRE_EQUAL(total, size * kThreads * kRounds);
  MPI_Comm_free(&messages);
  MPI_Win_free(&window);
  if (rank_in(MPI_COMM_WORLD) == 0) std::printf("threads of %d ranks used one window\n", size);
  MPI_Finalize();
  return 0;
}
