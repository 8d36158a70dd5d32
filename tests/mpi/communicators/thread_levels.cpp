// SPDX-License-Identifier: Apache-2.0
// MPI_Init_thread at every level, and what the inquiries say before, while and after. Argument: the
// level asked for. With MPI_THREAD_MULTIPLE all threads of all ranks exchange messages at once.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

bool flag_of(int (*inquiry)(int*)) {
  int flag = -1;
  REQUIRE_EQUAL(inquiry(&flag), MPI_SUCCESS);
  return flag != 0;
}

void exchange(int thread) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  for (int round = 0; round < 200; ++round) {
    const int sent = rank * 1000 + round;
    int got = -1;
    const int step = 1 + round % size;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&got, 1, MPI_INT, (rank + size * 2 - step) % size, thread, MPI_COMM_WORLD, &request);
    MPI_Send(&sent, 1, MPI_INT, (rank + step) % size, thread, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(got, ((rank + size * 2 - step) % size) * 1000 + round);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int required = argc > 1 ? std::atoi(argv[1]) : 0;
  const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                        MPI_THREAD_MULTIPLE};
  if (flag_of(MPI_Initialized) || flag_of(MPI_Finalized)) return 1;
  int provided = -1;
  MPI_Init_thread(&argc, &argv, levels[required], &provided);
  REQUIRE(flag_of(MPI_Initialized));
  REQUIRE(!flag_of(MPI_Finalized));
  REQUIRE(flag_of(MPI_Is_thread_main));
  REQUIRE(provided >= levels[required]);
  int level = -1;
  MPI_Query_thread(&level);
  REQUIRE_EQUAL(level, provided);

  if (levels[required] == MPI_THREAD_MULTIPLE) {
    std::vector<std::thread> threads;
    for (int thread = 1; thread <= 3; ++thread) {
      threads.emplace_back([thread] {
        REQUIRE(!flag_of(MPI_Is_thread_main));
        exchange(thread);
      });
    }
    exchange(0);
    for (auto& thread : threads) thread.join();
  } else {
    exchange(0);
  }
  std::printf("rank %d: level %d\n", rank_in(MPI_COMM_WORLD), required);
  MPI_Finalize();
  if (!flag_of(MPI_Initialized) || !flag_of(MPI_Finalized)) return 1;
  return 0;
}
