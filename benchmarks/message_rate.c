// SPDX-License-Identifier: Apache-2.0
/* How many messages of 8 bytes per second half of the ranks send to the other half, each to one, in
 * the manner of the OSU Micro-Benchmarks' osu_mbw_mr: windows of nonblocking messages, then an
 * answer. Argument: windows of each pair. Rank 0 prints rate MESSAGES_PER_SECOND of all pairs
 * together, by the slowest sender's time. The first tenth warms up. Exit code 1: a message with
 * other content than was sent. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWindow = 64, kData = 1, kAnswer = 2 };

static int rank;
static int pairs;

static long long content(long window, int slot) { return (long long)window * kWindow + slot; }

static void send_window(long window, int to) {
  long long data[kWindow];
  MPI_Request requests[kWindow];
  MPI_Status statuses[kWindow];
  char answer = 0;
  for (int slot = 0; slot < kWindow; ++slot) {
    data[slot] = content(window, slot);
    MPI_Isend(&data[slot], 1, MPI_LONG_LONG, to, kData, MPI_COMM_WORLD, &requests[slot]);
  }
  MPI_Waitall(kWindow, requests, statuses);
  MPI_Recv(&answer, 1, MPI_CHAR, to, kAnswer, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receive_window(long window, int from) {
  long long data[kWindow];
  MPI_Request requests[kWindow];
  MPI_Status statuses[kWindow];
  const char answer = 1;
  for (int slot = 0; slot < kWindow; ++slot) {
    MPI_Irecv(&data[slot], 1, MPI_LONG_LONG, from, kData, MPI_COMM_WORLD, &requests[slot]);
  }
  MPI_Waitall(kWindow, requests, statuses);
  for (int slot = 0; slot < kWindow; ++slot) {
    if (data[slot] == content(window, slot)) continue;
    fprintf(stderr, "rank %d: message %d of window %ld holds %lld\n", rank, slot, window,
            data[slot]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Send(&answer, 1, MPI_CHAR, from, kAnswer, MPI_COMM_WORLD);
}

/* Seconds of this rank. */
static double exchange(long windows) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (long window = 0; window < windows; ++window) {
    if (rank < pairs) {
      send_window(window, rank + pairs);
    } else {
      receive_window(window, rank - pairs);
    }
  }
  return MPI_Wtime() - begin;
}

int main(int argc, char** argv) {
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long windows = argc == 2 ? atol(argv[1]) : 0;
  if (windows < 1 || size % 2 != 0) {
    fprintf(stderr, "usage: message_rate WINDOWS, on an even number of ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  pairs = size / 2;
  exchange(windows / 10 + 1);
  const double mine = rank < pairs ? exchange(windows) : (exchange(windows), 0);
  double slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("rate %.0f\n", (double)pairs * (double)windows * kWindow / slowest);
  MPI_Finalize();
  return 0;
}
