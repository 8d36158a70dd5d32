// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_idup by several threads at once, each on a communicator of its own, while others
// duplicate MPI_COMM_SELF, blocking and nonblocking (which MPICH 4.0.2 by itself does not survive).
// Every duplicate is complete, apart from all others, and none waits for ever.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kThreads = 3;
constexpr int kRounds = 5;

void check_sum(MPI_Comm comm, int mark) {
  int sum = -1;
  MPI_Allreduce(&mark, &sum, 1, MPI_INT, MPI_SUM, comm);
  REQUIRE_EQUAL(sum, mark * size_of(comm));
}

/// Two duplicates in progress at once, the second completed by tests.
void duplicate(MPI_Comm parent, int thread) {
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm made[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int i = 0; i < 2; ++i)
      REQUIRE_EQUAL(MPI_Comm_idup(parent, &made[i], &requests[i]), MPI_SUCCESS);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    for (int done = 0; done == 0;) {
      MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE);
      std::this_thread::yield();
    }
    for (int i = 0; i < 2; ++i) check_sum(made[i], 1 + i + 2 * thread);
    for (MPI_Comm& each : made) MPI_Comm_free(&each);
  }
}

void duplicate_self(const std::atomic<bool>& over, bool nonblocking) {
  while (!over.load()) {
    MPI_Comm self = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    REQUIRE_EQUAL(nonblocking ? MPI_Comm_idup(MPI_COMM_SELF, &self, &request)
                              : MPI_Comm_dup(MPI_COMM_SELF, &self),
                  MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sum(self, 1);
    MPI_Comm_free(&self);
    std::this_thread::yield();
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  REQUIRE_EQUAL(provided, MPI_THREAD_MULTIPLE);
  std::vector<MPI_Comm> parents(kThreads);
  for (MPI_Comm& parent : parents) MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  std::atomic<bool> over{false};
  std::thread beside(duplicate_self, std::cref(over), false);
  std::thread beside_nonblocking(duplicate_self, std::cref(over), true);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back(duplicate, parents[static_cast<std::size_t>(thread)], thread);
  }
  for (std::thread& thread : threads) thread.join();
  over = true;
  beside.join();
  beside_nonblocking.join();
  for (MPI_Comm& parent : parents) MPI_Comm_free(&parent);
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("%d ranks duplicated in %d threads\n", size_of(MPI_COMM_WORLD), kThreads);
  MPI_Finalize();
}
