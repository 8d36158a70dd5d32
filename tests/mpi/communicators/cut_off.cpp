// SPDX-License-Identifier: Apache-2.0
// The last rank dies while the others wait in barriers that it has not entered: none may be over
// for anybody, also in the moment before the job has ended. Rank 0, whom the others of its system
// wait for, moves on very many of them in one thread and polls in another, so that one thread is
// likely to meet the end while the other goes on.
#include <signal.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"

namespace {

constexpr int kReady = 1;
constexpr int kNeverSent = 2;

[[noreturn]] void die_when_all_are_ready(int others) {
  for (int i = 0; i < others; ++i)
    MPI_Recv(nullptr, 0, MPI_INT, MPI_ANY_SOURCE, kReady, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  raise(SIGKILL);
  __builtin_unreachable();
}

void poll_until_the_end() {
  for (int found = 0; found == 0;)
    MPI_Iprobe(MPI_ANY_SOURCE, kNeverSent, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  std::fprintf(stderr, "a message that nobody sent has come\n");
}

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  REQUIRE_EQUAL(level, MPI_THREAD_MULTIPLE);
  const int last = impishim_test::size_of(MPI_COMM_WORLD) - 1;
  std::vector<MPI_Comm> communicators(256);
  for (MPI_Comm& communicator : communicators) MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  if (impishim_test::rank_in(MPI_COMM_WORLD) == last) die_when_all_are_ready(last);

  std::vector<MPI_Request> barriers(communicators.size());
  for (std::size_t i = 0; i < barriers.size(); ++i) MPI_Ibarrier(communicators[i], &barriers[i]);
  std::thread other;
  if (impishim_test::rank_in(MPI_COMM_WORLD) == 0) other = std::thread(poll_until_the_end);
  MPI_Send(nullptr, 0, MPI_INT, last, kReady, MPI_COMM_WORLD);
  int index = MPI_UNDEFINED;
  for (int over = 0; over == 0;) {
    MPI_Testany(static_cast<int>(barriers.size()), barriers.data(), &index, &over,
                MPI_STATUS_IGNORE);
  }
  std::fprintf(stderr, "a barrier is over that the last rank has not entered\n");
  std::fflush(stderr);
  if (other.joinable()) other.join();
  return 0;
}
