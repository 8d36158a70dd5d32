// SPDX-License-Identifier: Apache-2.0
// Threads of every process create communicators from the same group at the same time. String tags
// tell their calls apart, though each process begins its threads in another order (MPI-4.0 7.4.2).
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kThreads = 3;
constexpr int kRounds = 20;

/// All members of a communicator must have created it under the same tag.
void create_often(MPI_Group group, int thread) {
  for (int round = 0; round < kRounds; ++round) {
    const std::string tag = "thread " + std::to_string(thread);
    MPI_Comm comm = MPI_COMM_NULL;
    REQUIRE_EQUAL(
        MPI_Comm_create_from_group(group, tag.c_str(), MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm),
        MPI_SUCCESS);
    const int mine = thread * kRounds + round;
    std::vector<int> all(static_cast<std::size_t>(size_of(comm)), -1);
    MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
    for (const int each : all) REQUIRE_EQUAL(each, mine);
    MPI_Comm_free(&comm);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  REQUIRE_EQUAL(provided, MPI_THREAD_MULTIPLE);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back(create_often, group, (i + rank) % kThreads);
  for (std::thread& each : threads) each.join();
  MPI_Group_free(&group);
  std::printf("rank %d of %d: threads created communicators from a group\n", rank,
              size_of(MPI_COMM_WORLD));
  MPI_Finalize();
  return 0;
}
