// SPDX-License-Identifier: Apache-2.0
// Blocking collectives inside a system that wait for what is outstanding between systems: with
// IMPISHIM_NATIVE_COLLECTIVES=polled a rank that waits in one moves everything else on.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace {

int rank = 0;

void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// Ranks 0 and 1, and ranks 2 and 3: in one system each.
MPI_Comm make_pair() {
  MPI_Comm pair = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
  return pair;
}

/// The pair's first member is in its broadcast while the second waits for the outstanding
/// collective of all.
void collective_behind_collective(MPI_Comm pair, int round) {
  int sum = 0;
  const int one = rank + round;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  int word = rank % 2 == 1 ? 100 + round : 0;
  if (rank % 2 == 1) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Bcast(&word, 1, MPI_INT, 1, pair);
  } else {
    MPI_Bcast(&word, 1, MPI_INT, 1, pair);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  check(sum == 6 + 4 * round, "the sum of all");
  check(word == 100 + round, "the word of the pair");
}

/// A receive from anybody is outstanding at rank 0, whose partner joins the collective when the
/// message has been answered.
void collective_behind_message(MPI_Comm pair, int round) {
  int got = 0;
  int word = rank % 2 == 1 ? 200 + round : 0;
  if (rank == 0) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
    MPI_Bcast(&word, 1, MPI_INT, 1, pair);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(got == round, "what rank 2 sent");
  } else if (rank == 1) {
    MPI_Recv(&got, 1, MPI_INT, 2, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&word, 1, MPI_INT, 1, pair);
  } else {
    if (rank == 2) {
      MPI_Ssend(&round, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);  // over when rank 0 has matched it
      MPI_Send(&round, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
    }
    MPI_Bcast(&word, 1, MPI_INT, 1, pair);
  }
  check(word == 200 + round, "the pair's word behind a message");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm pair = make_pair();
  for (int round = 0; round < 20; ++round) {
    collective_behind_collective(pair, round);
    collective_behind_message(pair, round);
  }
  MPI_Comm_free(&pair);
  std::printf("rank %d: everything moved on\n", rank);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
