/* Two ranks measure each other, 0 and 1 or those that a fourth argument names, as 1,3; all others wait, asleep outside MPI.
 * Plain MPI: built for every MPI library alike. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

#include "tests/bench/measure.h"
#include "tests/bench/settle.h"

enum { kData, kRounds, kAnswer, kOver, kArguments = 4, kMostMessages = 64, kNapNs = 100000000 };

static int rank;
static int leader;
static int peer;

static size_t bytes_of(size_t size) { return size; }

static void tell(long rounds) { MPI_Send(&rounds, 1, MPI_LONG, peer, kRounds, MPI_COMM_WORLD); }

static long hear(void) {
  long rounds = 0;
  MPI_Recv(&rounds, 1, MPI_LONG, peer, kRounds, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return rounds;
}

static void ping_pong(char* out, char* in, size_t bytes, long rounds) {
  const int count = (int)bytes;
  if (rank == leader) {
    for (long i = 0; i < rounds; ++i) {
      MPI_Send(out, count, MPI_BYTE, peer, kData, MPI_COMM_WORLD);
      MPI_Recv(in, count, MPI_BYTE, peer, kData, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  } else {
    for (long i = 0; i < rounds; ++i) {
      MPI_Recv(in, count, MPI_BYTE, peer, kData, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(in, count, MPI_BYTE, peer, kData, MPI_COMM_WORLD);
    }
  }
}

static void stream(char* memory, size_t bytes, int window, long rounds) {
  const int count = (int)bytes;
  MPI_Request requests[kMostMessages];
  MPI_Status statuses[kMostMessages];
  char answer[8] = {0};
  for (long i = 0; i < rounds; ++i) {
    for (int slot = 0; slot < window; ++slot) {
      char* place = memory + (size_t)slot * bytes;
      if (rank == leader) {
        MPI_Isend(place, count, MPI_BYTE, peer, kData, MPI_COMM_WORLD, &requests[slot]);
      } else {
        MPI_Irecv(place, count, MPI_BYTE, peer, kData, MPI_COMM_WORLD, &requests[slot]);
      }
    }
    MPI_Waitall(window, requests, statuses);
    if (rank == leader) {
      MPI_Recv(answer, sizeof(answer), MPI_BYTE, peer, kAnswer, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(answer, sizeof(answer), MPI_BYTE, peer, kAnswer, MPI_COMM_WORLD);
    }
  }
}

static void sleep_until_over(void) {
  const struct timespec nap = {0, kNapNs};
  for (int over = 0; !over;) {
    nanosleep(&nap, NULL);
    MPI_Iprobe(leader, kOver, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
  }
  MPI_Recv(NULL, 0, MPI_BYTE, leader, kOver, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int size = 0;
  int follower = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int named = argc == kArguments + 1;
  const int understood = !named || sscanf(argv[kArguments], "%d,%d", &leader, &follower) == 2;
  if (!understood || leader == follower || leader < 0 || follower < 0 || leader >= size || follower >= size) {
    fprintf(stderr, "needs two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank != leader && rank != follower) {
    sleep_until_over();
    MPI_Finalize();
    return 0;
  }
  peer = rank == leader ? follower : leader;
  settle(rank == leader ? 0 : 1);
  const struct contestant contestant = {rank == leader, bytes_of, tell, hear, ping_pong, stream};
  if (measure(&contestant, named ? kArguments : argc, argv) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int other = 0; rank == leader && other < size; ++other) {
    if (other != leader && other != follower) MPI_Send(NULL, 0, MPI_BYTE, other, kOver, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
