/* Two ranks that exchange messages by MPI, by the functions of the program itself or by others of the same names; and what the
 * other ranks do meanwhile. */
#ifndef IMPISHIM_TESTS_BENCH_MPI_PAIR_H
#define IMPISHIM_TESTS_BENCH_MPI_PAIR_H

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

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

enum { kPairData, kPairRounds, kPairAnswer, kPairOver, kPairMostMessages = 64, kPairNapNs = 100000000 };

static inline void mpi_ping_pong(const struct mpi_calls* calls, struct mpi_side side, char* out, char* in, size_t bytes,
                                 long rounds) {
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

static inline void mpi_stream(const struct mpi_calls* calls, struct mpi_side side, char* memory, size_t bytes, int window,
                              long rounds) {
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
      calls->recv(answer, sizeof(answer), MPI_BYTE, side.peer, kPairAnswer, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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

/* Of the ranks that do not measure: asleep outside MPI. */
static inline void sleep_until_over(int leader) {
  const struct timespec nap = {0, kPairNapNs};
  for (int over = 0; !over;) {
    nanosleep(&nap, NULL);
    MPI_Iprobe(leader, kPairOver, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
  }
  MPI_Recv(NULL, 0, MPI_BYTE, leader, kPairOver, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The leader ends their sleep. */
static inline void wake_sleepers(int leader, int follower, int size) {
  for (int other = 0; other < size; ++other) {
    if (other != leader && other != follower) MPI_Send(NULL, 0, MPI_BYTE, other, kPairOver, MPI_COMM_WORLD);
  }
}

/* Reads who measures, as 1,3; with no `text` they stay as they are. Ends the job if there are no such two ranks. */
static inline void choose_pair(const char* text, int size, int* leader, int* follower) {
  const int understood = text == NULL || sscanf(text, "%d,%d", leader, follower) == 2;
  if (understood && *leader != *follower && *leader >= 0 && *follower >= 0 && *leader < size && *follower < size) return;
  fprintf(stderr, "needs two ranks\n");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

#endif
