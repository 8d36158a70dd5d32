// SPDX-License-Identifier: Apache-2.0
// Threads make communicators at once, each from a parent of its own, and from one parent by groups
// with tags of their own: no two may get the same context id, or their messages would mix.
#include <cstdio>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kThreads = 3;
constexpr int kRounds = 4;

/// Everybody sends the same tag at once on what each thread has made: only contexts tell the
/// messages apart.
void check_messages(MPI_Comm comm, int mark) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  const int sent = 1000 * mark + rank;
  std::vector<int> got(static_cast<std::size_t>(size), -1);
  std::vector<MPI_Request> requests(static_cast<std::size_t>(size));
  for (int peer = 0; peer < size; ++peer)
    MPI_Isend(&sent, 1, MPI_INT, peer, 0, comm, &requests[static_cast<std::size_t>(peer)]);
  for (int peer = 0; peer < size; ++peer) {
    MPI_Recv(&got[static_cast<std::size_t>(peer)], 1, MPI_INT, peer, MPI_ANY_TAG, comm,
             MPI_STATUS_IGNORE);
  }
  MPI_Waitall(size, requests.data(), MPI_STATUSES_IGNORE);
  for (int peer = 0; peer < size; ++peer)
    REQUIRE_EQUAL(got[static_cast<std::size_t>(peer)], 1000 * mark + peer);
  int sum = 0;
  MPI_Allreduce(&mark, &sum, 1, MPI_INT, MPI_SUM, comm);
  REQUIRE_EQUAL(sum, mark * size);
}

void make_and_free(MPI_Comm parent, MPI_Group everybody, int thread) {
  for (int round = 0; round < kRounds; ++round) {
    const int mark = 1 + thread + kThreads * round;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(parent, &made);
    check_messages(made, mark);
    MPI_Comm_free(&made);
    MPI_Comm_split(parent, rank_in(parent) % 2, -rank_in(parent), &made);
    check_messages(made, mark);
    MPI_Comm_free(&made);
    MPI_Comm_create_group(MPI_COMM_WORLD, everybody, thread, &made);
    check_messages(made, mark);
    MPI_Comm_free(&made);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  REQUIRE_EQUAL(provided, MPI_THREAD_MULTIPLE);
  MPI_Group everybody = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &everybody);
  std::vector<MPI_Comm> parents(kThreads);
  for (MPI_Comm& parent : parents) MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back(make_and_free, parents[static_cast<std::size_t>(thread)], everybody,
                         thread);
  }
  for (std::thread& thread : threads) thread.join();
  for (MPI_Comm& parent : parents) MPI_Comm_free(&parent);
  MPI_Group_free(&everybody);
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("%d ranks made communicators in %d threads\n", size_of(MPI_COMM_WORLD), kThreads);
  MPI_Finalize();
  return 0;
}
