// SPDX-License-Identifier: Apache-2.0
/* What one MPI call costs, best of many rounds: to compare with and without the shim, on one
 * process. Machine-readable lines: call_overhead <what> <nanoseconds per call>. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { kRounds = 400, kCalls = 2000 };

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void comm_rank(void) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_SELF, &rank);
}

static void test_null(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  int flag = 0;
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void message_to_self(void) {
  int out = 1;
  int in = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  MPI_Recv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void measure(const char* what, void (*call)(void), int calls_each) {
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    const double start = now_ns();
    for (int i = 0; i < kCalls; ++i) call();
    const double each = (now_ns() - start) / kCalls / calls_each;
    if (each < best) best = each;
  }
  printf("call_overhead %s %.2f\n", what, best);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  measure("comm_rank", comm_rank, 1);
  measure("test_null_request", test_null, 1);
  measure("isend_recv_wait_to_self", message_to_self, 3);
  MPI_Finalize();
  return 0;
}
