/* Ranks 0 and 1 measure each other; all other ranks only wait, asleep. Plain MPI: built for every MPI library alike. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

#include "tests/bench/measure.h"
#include "tests/bench/settle.h"

enum { kData, kRounds, kAnswer, kOver, kMostMessages = 64, kNapNs = 20000000 };

static int rank;
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
  if (rank == 0) {
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
      if (rank == 0) {
        MPI_Isend(place, count, MPI_BYTE, peer, kData, MPI_COMM_WORLD, &requests[slot]);
      } else {
        MPI_Irecv(place, count, MPI_BYTE, peer, kData, MPI_COMM_WORLD, &requests[slot]);
      }
    }
    MPI_Waitall(window, requests, statuses);
    if (rank == 0) {
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
    MPI_Iprobe(0, kOver, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
  }
  MPI_Recv(NULL, 0, MPI_BYTE, 0, kOver, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) {
    fprintf(stderr, "needs two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank >= 2) {
    sleep_until_over();
    MPI_Finalize();
    return 0;
  }
  peer = 1 - rank;
  settle(rank);
  const struct contestant contestant = {rank == 0, bytes_of, tell, hear, ping_pong, stream};
  if (measure(&contestant, argc, argv) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int other = 2; rank == 0 && other < size; ++other) MPI_Send(NULL, 0, MPI_BYTE, other, kOver, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
