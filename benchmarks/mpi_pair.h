// SPDX-License-Identifier: Apache-2.0
/* Two ranks that exchange messages by MPI, by the functions of the program itself or by others of
 * the same names; and what the other ranks do meanwhile. */
#ifndef IMPISHIM_TESTS_BENCH_MPI_PAIR_H
#define IMPISHIM_TESTS_BENCH_MPI_PAIR_H

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "benchmarks/settle.h"

struct mpi_calls {
  int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  int (*recv)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
  int (*isend)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  int (*irecv)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  int (*waitall)(int, MPI_Request*, MPI_Status*);
};

/* Bound here, so that a compiler that knows the structure calls them directly. */
#define THE_PROGRAMS_CALLS \
  { MPI_Send, MPI_Recv, MPI_Isend, MPI_Irecv, MPI_Waitall }

/* One side. */
struct mpi_side {
  int leads;
  int peer; /* the other side's rank in MPI_COMM_WORLD, as the functions count it */
};

enum {
  kPairData,
  kPairRounds,
  kPairAnswer,
  kPairOver,
  kPairMostMessages = 64,
  kPairNapNs = 100000000
};

static inline void mpi_ping_pong(const struct mpi_calls* calls, struct mpi_side side, char* out,
                                 char* in, size_t bytes, long rounds) {
  const int count = (int)bytes;
  if (side.leads) {
    for (long i = 0; i < rounds; ++i) {
      calls->send(out, count, MPI_BYTE, side.peer, kPairData, MPI_COMM_WORLD);
      calls->recv(in, count, MPI_BYTE, side.peer, kPairData, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  } else {
    for (long i = 0; i < rounds; ++i) {
      calls->recv(in, count, MPI_BYTE, side.peer, kPairData, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      calls->send(in, count, MPI_BYTE, side.peer, kPairData, MPI_COMM_WORLD);
    }
  }
}

static inline void mpi_stream(const struct mpi_calls* calls, struct mpi_side side, char* memory,
                              size_t bytes, int window, long rounds) {
  const int count = (int)bytes;
  MPI_Request requests[kPairMostMessages];
  MPI_Status statuses[kPairMostMessages];
  char answer[8] = {0};
  for (long i = 0; i < rounds; ++i) {
    for (int slot = 0; slot < window; ++slot) {
      char* place = memory + (size_t)slot * bytes;
      if (side.leads) {
        calls->isend(place, count, MPI_BYTE, side.peer, kPairData, MPI_COMM_WORLD, &requests[slot]);
      } else {
        calls->irecv(place, count, MPI_BYTE, side.peer, kPairData, MPI_COMM_WORLD, &requests[slot]);
      }
    }
    calls->waitall(window, requests, statuses);
    if (side.leads) {
      calls->recv(answer, sizeof(answer), MPI_BYTE, side.peer, kPairAnswer, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE);
    } else {
      calls->send(answer, sizeof(answer), MPI_BYTE, side.peer, kPairAnswer, MPI_COMM_WORLD);
    }
  }
}

static inline void mpi_tell(struct mpi_side side, long rounds) {
  MPI_Send(&rounds, 1, MPI_LONG, side.peer, kPairRounds, MPI_COMM_WORLD);
}

static inline long mpi_hear(struct mpi_side side) {
  long rounds = 0;
  MPI_Recv(&rounds, 1, MPI_LONG, side.peer, kPairRounds, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return rounds;
}

/* Who measures, and this rank's part in it. */
struct mpi_pair {
  int leader;
  int follower;
  int size; /* of MPI_COMM_WORLD */
  struct mpi_side side;
};

/* BENCH_COMPUTE is set: the other ranks compute instead of sleeping, on the second processor, and
 * the two that measure share the first one. */
static inline int others_compute(void) { return getenv("BENCH_COMPUTE") != NULL; }

static inline void compute_for(double seconds) {
  for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
  }
}

/* Outside MPI but for a probe ten times a second. */
static inline void rest_until_over(int leader) {
  const struct timespec nap = {0, kPairNapNs};
  if (others_compute()) settle(1);
  for (int over = 0; !over;) {
    if (others_compute()) {
      compute_for(kPairNapNs * 1e-9);
    } else {
      nanosleep(&nap, NULL);
    }
    MPI_Iprobe(leader, kPairOver, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
  }
  MPI_Recv(NULL, 0, MPI_BYTE, leader, kPairOver, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Ranks 0 and 1 measure, or those that `named` names, as 1,3; both are bound to processors of their
 * own. All others sleep, or compute, until leave_pair(), and get 0. Ends the job if there are no
 * such two ranks.
 */
static inline int enter_pair(const char* named, struct mpi_pair* pair) {
  int rank = 0;
  pair->leader = 0;
  pair->follower = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &pair->size);
  const int understood =
      named == NULL || sscanf(named, "%d,%d", &pair->leader, &pair->follower) == 2;
  if (!understood || pair->leader == pair->follower || pair->leader < 0 || pair->follower < 0 ||
      pair->leader >= pair->size || pair->follower >= pair->size) {
    fprintf(stderr, "needs two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (rank != pair->leader && rank != pair->follower) {
    rest_until_over(pair->leader);
    return 0;
  }
  pair->side.leads = rank == pair->leader;
  pair->side.peer = pair->side.leads ? pair->follower : pair->leader;
  settle(pair->side.leads || others_compute() ? 0 : 1);
  return 1;
}

/* The leader ends the others' sleep. */
static inline void leave_pair(const struct mpi_pair* pair) {
  for (int other = 0; pair->side.leads && other < pair->size; ++other) {
    if (other == pair->leader || other == pair->follower) continue;
    MPI_Send(NULL, 0, MPI_BYTE, other, kPairOver, MPI_COMM_WORLD);
  }
}

#endif
