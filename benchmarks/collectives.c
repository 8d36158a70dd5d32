// SPDX-License-Identifier: Apache-2.0
/* Times every collective of MPI on all ranks: for scripts/bench collectives.
 *
 * Arguments: sizes as 8,1024; microseconds to spend per size and collective; "calls", "row" or
 * "delays"; names of collectives, or none for all. Rank 0 prints time NAME SIZE MICROSECONDS SIZE:
 * bytes of one process's block (of the whole vector where there is one). calls: of one call behind
 * a barrier, the mean over calls and ranks, as the OSU Micro-Benchmarks measure it. row: per call
 * in a row of calls, of the slowest rank. delays: from a moment when all ranks start at once to the
 * end of the last one, the median of five calls, on processes that share a clock. Results are
 * checked after the timing. Exit code 1: a wrong result. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMostRanks = 64, kDelayCalls = 5 };

static int rank, size;
static size_t elements; /* of a block, ints */
static int *send, *receive;
static int counts[kMostRanks], places[kMostRanks], byte_places[kMostRanks];
static MPI_Datatype types[kMostRanks];
static MPI_Comm ring;

static int pattern(size_t block, size_t i) { return (int)(block * 7919 + i * 31) % 10007; }

static void fill(size_t blocks, size_t first_block) {
  for (size_t b = 0; b < blocks; ++b) {
    for (size_t i = 0; i < elements; ++i) send[b * elements + i] = pattern(first_block + b, i);
  }
}

static int is_pattern(const int* block, size_t number) {
  for (size_t i = 0; i < elements; ++i) {
    if (block[i] != pattern(number, i)) return 0;
  }
  return 1;
}

/* Block `first` and every `step`-th after it, `terms` in all, added up. */
static int is_sum(const int* block, size_t first, size_t step, size_t terms) {
  for (size_t i = 0; i < elements; ++i) {
    int sum = 0;
    for (size_t t = 0; t < terms; ++t) sum += pattern(first + t * step, i);
    if (block[i] != sum) return 0;
  }
  return 1;
}

static void own_block(void) { fill(1, (size_t)rank); }
static void block_for_each(void) { fill((size_t)size, (size_t)rank * (size_t)size); }
static void root_blocks(void) { fill((size_t)size, 0); }
static int all_blocks(void) {
  for (int r = 0; r < size; ++r) {
    if (!is_pattern(receive + (size_t)r * elements, (size_t)r)) return 0;
  }
  return 1;
}
static int at_root(int right) { return rank != 0 || right; }

static void run_barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void run_bcast(void) {
  MPI_Bcast(rank == 0 ? send : receive, counts[0], MPI_INT, 0, MPI_COMM_WORLD);
}
static int right_bcast(void) { return rank == 0 || is_pattern(receive, 0); }
static void run_gather(void) {
  MPI_Gather(send, counts[0], MPI_INT, receive, counts[0], MPI_INT, 0, MPI_COMM_WORLD);
}
static void run_gatherv(void) {
  MPI_Gatherv(send, counts[0], MPI_INT, receive, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
}
static int right_gather(void) { return at_root(rank != 0 || all_blocks()); }
static void run_scatter(void) {
  MPI_Scatter(send, counts[0], MPI_INT, receive, counts[0], MPI_INT, 0, MPI_COMM_WORLD);
}
static void run_scatterv(void) {
  MPI_Scatterv(send, counts, places, MPI_INT, receive, counts[0], MPI_INT, 0, MPI_COMM_WORLD);
}
static int right_scatter(void) { return is_pattern(receive, (size_t)rank); }
static void run_allgather(void) {
  MPI_Allgather(send, counts[0], MPI_INT, receive, counts[0], MPI_INT, MPI_COMM_WORLD);
}
static void run_allgatherv(void) {
  MPI_Allgatherv(send, counts[0], MPI_INT, receive, counts, places, MPI_INT, MPI_COMM_WORLD);
}
static void run_alltoall(void) {
  MPI_Alltoall(send, counts[0], MPI_INT, receive, counts[0], MPI_INT, MPI_COMM_WORLD);
}
static void run_alltoallv(void) {
  MPI_Alltoallv(send, counts, places, MPI_INT, receive, counts, places, MPI_INT, MPI_COMM_WORLD);
}
static void run_alltoallw(void) {
  MPI_Alltoallw(send, counts, byte_places, types, receive, counts, byte_places, types,
                MPI_COMM_WORLD);
}
static int right_alltoall(void) {
  for (int r = 0; r < size; ++r) {
    if (!is_pattern(receive + (size_t)r * elements, (size_t)r * (size_t)size + (size_t)rank))
      return 0;
  }
  return 1;
}
static void run_reduce(void) {
  MPI_Reduce(send, receive, counts[0], MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}
static int right_reduce(void) { return at_root(rank != 0 || is_sum(receive, 0, 1, (size_t)size)); }
static void run_allreduce(void) {
  MPI_Allreduce(send, receive, counts[0], MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static int right_allreduce(void) { return is_sum(receive, 0, 1, (size_t)size); }
static void run_reduce_scatter(void) {
  MPI_Reduce_scatter(send, receive, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void run_reduce_scatter_block(void) {
  MPI_Reduce_scatter_block(send, receive, counts[0], MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static int right_reduce_scatter(void) {
  return is_sum(receive, (size_t)rank, (size_t)size, (size_t)size);
}
static void run_scan(void) { MPI_Scan(send, receive, counts[0], MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
static int right_scan(void) { return is_sum(receive, 0, 1, (size_t)rank + 1); }
static void run_exscan(void) {
  MPI_Exscan(send, receive, counts[0], MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static int right_exscan(void) { return rank == 0 || is_sum(receive, 0, 1, (size_t)rank); }
static void run_neighbor(void) {
  MPI_Neighbor_alltoall(send, counts[0], MPI_INT, receive, counts[0], MPI_INT, ring);
}
static void neighbor_blocks(void) { fill(2, (size_t)rank * 2); }
static int right_neighbor(void) {
  const size_t left = (size_t)((rank + size - 1) % size);
  const size_t right = (size_t)((rank + 1) % size);
  return is_pattern(receive, left * 2 + 1) && is_pattern(receive + elements, right * 2);
}
static void nothing(void) {}
static int right(void) { return 1; }

struct collective {
  const char* name;
  void (*prepare)(void);
  void (*run)(void);
  int (*right)(void);
};
static const struct collective collectives[] = {
    {"barrier", nothing, run_barrier, right},
    {"bcast", root_blocks, run_bcast, right_bcast},
    {"gather", own_block, run_gather, right_gather},
    {"gatherv", own_block, run_gatherv, right_gather},
    {"scatter", root_blocks, run_scatter, right_scatter},
    {"scatterv", root_blocks, run_scatterv, right_scatter},
    {"allgather", own_block, run_allgather, all_blocks},
    {"allgatherv", own_block, run_allgatherv, all_blocks},
    {"alltoall", block_for_each, run_alltoall, right_alltoall},
    {"alltoallv", block_for_each, run_alltoallv, right_alltoall},
    {"alltoallw", block_for_each, run_alltoallw, right_alltoall},
    {"reduce", own_block, run_reduce, right_reduce},
    {"allreduce", own_block, run_allreduce, right_allreduce},
    {"reduce_scatter", block_for_each, run_reduce_scatter, right_reduce_scatter},
    {"reduce_scatter_block", block_for_each, run_reduce_scatter_block, right_reduce_scatter},
    {"scan", own_block, run_scan, right_scan},
    {"exscan", own_block, run_exscan, right_exscan},
    {"neighbor_alltoall", neighbor_blocks, run_neighbor, right_neighbor},
};

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double slowest(double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

/* Rank 0 tells how many calls fill the time. */
static int calls_in(const struct collective* each, double budget_us) {
  each->run();
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_us();
  each->run();
  each->run();
  const double one = slowest(now_us() - begin) / 2;
  int calls = (int)(budget_us / (one > 0.1 ? one : 0.1));
  calls = calls < 3 ? 3 : calls > 20000 ? 20000 : calls;
  MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return calls;
}

static double time_of_a_call(const struct collective* each, double budget_us) {
  const int calls = calls_in(each, budget_us);
  double mine = 0;
  for (int i = 0; i < calls; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_us();
    each->run();
    mine += now_us() - begin;
  }
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all / size / calls;
}

static double time_in_a_row(const struct collective* each, double budget_us) {
  const int calls = calls_in(each, budget_us);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_us();
  for (int i = 0; i < calls; ++i) each->run();
  return slowest(now_us() - begin) / calls;
}

static int ascending(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return difference < 0 ? -1 : difference > 0;
}

static double time_from_a_common_start(const struct collective* each) {
  double times[kDelayCalls];
  for (int i = 0; i < kDelayCalls; ++i) {
    double start = now_us() + 100000;
    MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    const struct timespec until = {(time_t)(start / 1e6),
                                   (long)((start - (double)(time_t)(start / 1e6) * 1e6) * 1e3)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    each->run();
    times[i] = slowest(now_us() - start);
  }
  qsort(times, kDelayCalls, sizeof(times[0]), ascending);
  return times[kDelayCalls / 2];
}

static double time_as(const char* mode, const struct collective* each, double budget_us) {
  if (strcmp(mode, "delays") == 0) return time_from_a_common_start(each);
  return strcmp(mode, "row") == 0 ? time_in_a_row(each, budget_us)
                                  : time_of_a_call(each, budget_us);
}

/* Returns whether all ranks have the right result. */
static int measure(const struct collective* each, size_t bytes, double budget_us,
                   const char* mode) {
  elements = bytes / sizeof(int);
  send = malloc((size_t)size * bytes);
  receive = calloc((size_t)size, bytes);
  for (int r = 0; r < size; ++r) {
    counts[r] = (int)elements;
    places[r] = r * (int)elements;
    byte_places[r] = r * (int)bytes;
    types[r] = MPI_INT;
  }
  each->prepare();
  const double us = time_as(mode, each, budget_us);
  int mine = each->right();
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all) printf("time %s %zu %.2f\n", each->name, bytes, us);
  if (!mine) fprintf(stderr, "rank %d: wrong result of %s, %zu bytes\n", rank, each->name, bytes);
  free(send);
  free(receive);
  return all;
}

static int wanted(const char* name, int argc, char** argv) {
  for (int i = 4; i < argc; ++i) {
    if (strcmp(argv[i], name) == 0) return 1;
  }
  return argc == 4;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 4 || size > kMostRanks) {
    fprintf(stderr,
            "usage: collectives SIZES MICROSECONDS calls|row|delays [NAME...], at most %d ranks\n",
            kMostRanks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (rank == 0) printf("ranks %d\n", size);
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  int right_all = 1;
  for (char* word = strtok(argv[1], ","); word != NULL; word = strtok(NULL, ",")) {
    for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); ++i) {
      if (!wanted(collectives[i].name, argc, argv)) continue;
      right_all =
          measure(&collectives[i], strtoul(word, NULL, 10), atof(argv[2]), argv[3]) && right_all;
    }
  }
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return right_all ? 0 : 1;
}
