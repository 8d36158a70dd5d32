// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_idup by several threads at once, each on a communicator of its own, while others
// duplicate MPI_COMM_SELF, blocking and nonblocking (which MPICH 4.0.2 by itself does not survive).
// With the argument "halves" one of the communicators is an intercommunicator of two halves, and
// with "all" a second one has even and odd ranks, so that each system has members of both groups.
// Every duplicate is complete, apart from all others, and none waits for ever.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kThreads = 3;
constexpr int kRounds = 5;

void check_sum(MPI_Comm comm, int mark) {
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  int members = size_of(comm);
  if (inter != 0) MPI_Comm_remote_size(comm, &members);
  int sum = -1;
  MPI_Allreduce(&mark, &sum, 1, MPI_INT, MPI_SUM, comm);
  REQUIRE_EQUAL(sum, mark * members);
}

/// Returns an intercommunicator between the ranks for which `left` is true and all others.
/// `remote_leader` is the first rank of the other group.
MPI_Comm between(bool left, int remote_leader) {
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, left ? 1 : 0, 0, &own);
  REQUIRE_EQUAL(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, remote_leader, 0, &made), MPI_SUCCESS);
  MPI_Comm_free(&own);
  return made;
}

std::vector<MPI_Comm> make_parents(std::string_view word) {
  std::vector<MPI_Comm> parents(kThreads);
  for (MPI_Comm& parent : parents) MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  if (word.empty()) return parents;
  const int rank = rank_in(MPI_COMM_WORLD);
  const int half = size_of(MPI_COMM_WORLD) / 2;
  MPI_Comm_free(&parents[2]);
  parents[2] = between(rank < half, rank < half ? half : 0);
  if (word == "halves") return parents;
  MPI_Comm_free(&parents[1]);
  parents[1] = between(rank % 2 == 0, 1 - rank % 2);
  return parents;
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
  std::vector<MPI_Comm> parents = make_parents(argc > 1 ? argv[1] : "");
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
