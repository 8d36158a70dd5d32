// SPDX-License-Identifier: Apache-2.0
/* A profiling tool as mpiP and its like are: counts and times calls, communicates by PMPI functions
 * of its own in MPI_Init and MPI_Finalize, and is switched by MPI_Pcontrol. Rank 0 prints the sums
 * over all ranks. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

enum Call {
  kSend,
  kRecv,
  kIsend,
  kIrecv,
  kWait,
  kWaitall,
  kSendrecv,
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kAlltoall,
  kCommDup,
  kCommSplit,
  kCommFree,
  kCalls
};

static const char* const names[kCalls] = {
    "MPI_Send",      "MPI_Recv",     "MPI_Isend",    "MPI_Irecv",      "MPI_Wait",
    "MPI_Waitall",   "MPI_Sendrecv", "MPI_Barrier",  "MPI_Bcast",      "MPI_Reduce",
    "MPI_Allreduce", "MPI_Alltoall", "MPI_Comm_dup", "MPI_Comm_split", "MPI_Comm_free"};

static long counts[kCalls];
static double seconds[kCalls];
static int counting = 1;
static int own_rank = -1;
static int first_sum = -1;

#define PROFILED(call, invocation)           \
  do {                                       \
    const double began = PMPI_Wtime();       \
    const int code = invocation;             \
    if (counting) {                          \
      ++counts[call];                        \
      seconds[call] += PMPI_Wtime() - began; \
    }                                        \
    return code;                             \
  } while (0)

static void begin(void) {
  PMPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  PMPI_Allreduce(&own_rank, &first_sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

int MPI_Init(int* argc, char*** argv) {
  const int code = PMPI_Init(argc, argv);
  begin();
  return code;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  begin();
  return code;
}

int MPI_Pcontrol(const int level, ...) {
  counting = level != 0;
  return PMPI_Pcontrol(level);
}

int MPI_Send(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  PROFILED(kSend, PMPI_Send(b, n, t, to, tag, c));
}
int MPI_Recv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s) {
  PROFILED(kRecv, PMPI_Recv(b, n, t, from, tag, c, s));
}
int MPI_Isend(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r) {
  PROFILED(kIsend, PMPI_Isend(b, n, t, to, tag, c, r));
}
int MPI_Irecv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r) {
  PROFILED(kIrecv, PMPI_Irecv(b, n, t, from, tag, c, r));
}
int MPI_Wait(MPI_Request* r, MPI_Status* s) { PROFILED(kWait, PMPI_Wait(r, s)); }
int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[]) {
  PROFILED(kWaitall, PMPI_Waitall(n, r, s));
}
int MPI_Sendrecv(const void* b, int n, MPI_Datatype t, int to, int tag, void* in, int in_n,
                 MPI_Datatype in_t, int from, int in_tag, MPI_Comm c, MPI_Status* s) {
  PROFILED(kSendrecv, PMPI_Sendrecv(b, n, t, to, tag, in, in_n, in_t, from, in_tag, c, s));
}
int MPI_Barrier(MPI_Comm c) { PROFILED(kBarrier, PMPI_Barrier(c)); }
int MPI_Bcast(void* b, int n, MPI_Datatype t, int root, MPI_Comm c) {
  PROFILED(kBcast, PMPI_Bcast(b, n, t, root, c));
}
int MPI_Reduce(const void* b, void* out, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c) {
  PROFILED(kReduce, PMPI_Reduce(b, out, n, t, op, root, c));
}
int MPI_Allreduce(const void* b, void* out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  PROFILED(kAllreduce, PMPI_Allreduce(b, out, n, t, op, c));
}
int MPI_Alltoall(const void* b, int n, MPI_Datatype t, void* out, int out_n, MPI_Datatype out_t,
                 MPI_Comm c) {
  PROFILED(kAlltoall, PMPI_Alltoall(b, n, t, out, out_n, out_t, c));
}
int MPI_Comm_dup(MPI_Comm c, MPI_Comm* made) { PROFILED(kCommDup, PMPI_Comm_dup(c, made)); }
int MPI_Comm_split(MPI_Comm c, int color, int key, MPI_Comm* made) {
  PROFILED(kCommSplit, PMPI_Comm_split(c, color, key, made));
}
int MPI_Comm_free(MPI_Comm* c) { PROFILED(kCommFree, PMPI_Comm_free(c)); }

int MPI_Finalize(void) {
  enum { kMostRanks = 64 };
  long sums[kCalls];
  double most[kCalls];
  int ranks[kMostRanks];
  int size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  PMPI_Reduce(counts, sums, kCalls, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  PMPI_Reduce(seconds, most, kCalls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  PMPI_Gather(&own_rank, 1, MPI_INT, ranks, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (own_rank == 0) {
    printf("profile of %d ranks, sum of ranks %d\n", size, first_sum);
    for (int i = 0; i < size; ++i)
      if (ranks[i] != i) printf("profile: rank %d where %d was expected\n", ranks[i], i);
    for (int call = 0; call < kCalls; ++call) {
      printf("profile: %s %ld calls%s\n", names[call], sums[call],
             most[call] >= 0 && (sums[call] == 0) == (most[call] == 0) ? "" : ", wrong time");
    }
    fflush(stdout);
  }
  return PMPI_Finalize();
}
