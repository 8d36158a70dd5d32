// SPDX-License-Identifier: Apache-2.0
// Programs that hang, each in its own way. Rank 0 prints a line before they do; they end when the
// test ends them.
//
//   hangs cycle      each rank receives from the next one
//   hangs mismatch   the last rank calls MPI_Bcast, the others MPI_Allreduce, on a duplicate
//   hangs inside     ranks 0 and 1, of one system, receive from each other; the others join later
//   hangs wildcard   all receive from any source
//   hangs late       the last rank computes, the others wait in MPI_Barrier
//   hangs requests   each rank waits for two receives and two sends without partners
//   hangs finalize   all but rank 0 are in MPI_Finalize, and rank 0 receives
//   hangs lost       a rank of the last system is killed; ranks 0 and 1 go on without that system,
//                    and receive from each other
//   hangs not        all exchange messages until they are ended
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/check.hpp"

namespace {

int rank_here = 0;
int size_here = 0;

void receive(int source, int tag, MPI_Comm comm = MPI_COMM_WORLD) {
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE);
}

void mismatch() {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Barrier(copy);
  int value = rank_here;
  int sum = 0;
  if (rank_here == size_here - 1)
    MPI_Bcast(&value, 1, MPI_INT, 0, copy);
  else
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, copy);
  MPI_Barrier(copy);
}

void compute() {
  for (;;) pause();
}

void wait_for_requests() {
  std::array<MPI_Request, 4> requests{};
  std::vector<char> large(std::size_t{1} << 20U);
  int value = 0;
  const int next = (rank_here + 1) % size_here;
  const int previous = (rank_here + size_here - 1) % size_here;
  MPI_Irecv(&value, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&value, 1, MPI_INT, previous, 6, MPI_COMM_WORLD, &requests[1]);
  MPI_Issend(large.data(), 1, MPI_CHAR, next, 7, MPI_COMM_WORLD, &requests[2]);
  MPI_Issend(large.data(), 1, MPI_CHAR, previous, 8, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
}

/// Returns errors of the world, and ends the last system. Ranks 0 and 1 go on when they see that.
void lose_last_system() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  const int last = size_here - 1;
  if (rank_here == last) raise(SIGKILL);
  if (rank_here > 1) compute();
  int value = 0;
  REQUIRE(MPI_Recv(&value, 1, MPI_INT, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  receive(1 - rank_here, 13);
}

void exchange_for_ever() {
  const int next = (rank_here + 1) % size_here;
  const int previous = (rank_here + size_here - 1) % size_here;
  for (;;) {
    int in = 0;
    MPI_Sendrecv(&rank_here, 1, MPI_INT, next, 1, &in, 1, MPI_INT, previous, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    REQUIRE(in == previous);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_here);
  MPI_Comm_size(MPI_COMM_WORLD, &size_here);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_here == 0) std::printf("about to hang: %s\n", mode.c_str());
  std::fflush(stdout);
  if (mode == "cycle") receive((rank_here + 1) % size_here, 7);
  if (mode == "mismatch") mismatch();
  if (mode == "inside" && rank_here < 2) receive(1 - rank_here, 11);
  if (mode == "inside") MPI_Barrier(MPI_COMM_WORLD);
  if (mode == "wildcard") receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
  if (mode == "late" && rank_here == size_here - 1) compute();
  if (mode == "late") MPI_Barrier(MPI_COMM_WORLD);
  if (mode == "requests") wait_for_requests();
  if (mode == "finalize" && rank_here == 0) receive(size_here - 1, 3);
  if (mode == "lost") lose_last_system();
  if (mode == "not") exchange_for_ever();
  MPI_Finalize();
  return 0;
}
