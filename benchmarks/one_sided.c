// SPDX-License-Identifier: Apache-2.0
/* One-sided communication: rank 0 accesses the window of another rank. Plain MPI: built for every
 * MPI library alike. Checks its results. Prints lines `time NAME microseconds`.
 *
 * usage: one_sided pair TARGET MICROSECONDS_PER_ROW | delays REPETITIONS | busy TARGET
 *   pair    accesses to rank TARGET, which waits in MPI
 *   delays  epochs among all ranks, from a common start to the end on the last rank
 *   busy    a put and a flush while the target computes for a second */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  kOver = 7,
  kNapNs = 2000000,
  kOutstanding = 64,
  kLongest = 2 << 20,
  kStream = 4, /* long accesses at a time, as raw_tcp streams them */
  kMemory = kStream * kLongest,
  kComputeMs = 1000
};

struct window {
  MPI_Win win;
  char* memory;
  char* own; /* what is put, and where what is got goes */
  int target;
};

static struct window make_window(int target) {
  struct window made = {MPI_WIN_NULL, NULL, malloc(kMemory), target};
  memset(made.own, 1, kMemory);
  MPI_Win_allocate(kMemory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made.memory, &made.win);
  memset(made.memory, 0, kMemory);
  return made;
}

static void put_8(const struct window* w) {
  MPI_Put(w->own, 8, MPI_BYTE, w->target, 0, 8, MPI_BYTE, w->win);
  MPI_Win_flush(w->target, w->win);
}

static void get_8(const struct window* w) {
  MPI_Get(w->own, 8, MPI_BYTE, w->target, 8, 8, MPI_BYTE, w->win);
  MPI_Win_flush(w->target, w->win);
}

static void fetch_and_op(const struct window* w) {
  const long one = 1;
  long before = 0;
  MPI_Fetch_and_op(&one, &before, MPI_LONG, w->target, 64, MPI_SUM, w->win);
  MPI_Win_flush(w->target, w->win);
}

static void compare_and_swap(const struct window* w) {
  const long zero = 0;
  long before = 0;
  MPI_Compare_and_swap(&zero, &zero, &before, MPI_LONG, w->target, 128, w->win);
  MPI_Win_flush(w->target, w->win);
}

static void puts_64(const struct window* w) {
  for (int i = 0; i < kOutstanding; ++i)
    MPI_Put(w->own, 8, MPI_BYTE, w->target, 256 + 8 * i, 8, MPI_BYTE, w->win);
  MPI_Win_flush(w->target, w->win);
}

static void put_2_mib(const struct window* w) {
  MPI_Put(w->own, kLongest, MPI_BYTE, w->target, 0, kLongest, MPI_BYTE, w->win);
  MPI_Win_flush(w->target, w->win);
}

static void get_2_mib(const struct window* w) {
  MPI_Get(w->own, kLongest, MPI_BYTE, w->target, 0, kLongest, MPI_BYTE, w->win);
  MPI_Win_flush(w->target, w->win);
}

static void puts_2_mib(const struct window* w) {
  for (int i = 0; i < kStream; ++i) {
    const MPI_Aint at = (MPI_Aint)i * kLongest;
    MPI_Put(w->own + at, kLongest, MPI_BYTE, w->target, at, kLongest, MPI_BYTE, w->win);
  }
  MPI_Win_flush(w->target, w->win);
}

static void gets_2_mib(const struct window* w) {
  for (int i = 0; i < kStream; ++i) {
    const MPI_Aint at = (MPI_Aint)i * kLongest;
    MPI_Get(w->own + at, kLongest, MPI_BYTE, w->target, at, kLongest, MPI_BYTE, w->win);
  }
  MPI_Win_flush(w->target, w->win);
}

struct row {
  const char* name;
  void (*run)(const struct window*);
};

static const struct row rows[] = {{"put_8", put_8},
                                  {"get_8", get_8},
                                  {"fetch_and_op", fetch_and_op},
                                  {"compare_and_swap", compare_and_swap},
                                  {"puts_64", puts_64},
                                  {"put_2_mib", put_2_mib},
                                  {"get_2_mib", get_2_mib},
                                  {"puts_2_mib", puts_2_mib},
                                  {"gets_2_mib", gets_2_mib}};
enum { kRows = sizeof rows / sizeof rows[0] };

/* The shortest of several batches, in microseconds for one run. */
static double best_time(const struct row* row, const struct window* w, double budget_us) {
  enum { kBatches = 5 };
  row->run(w); /* what the first access sets up */
  double begin = MPI_Wtime();
  row->run(w);
  const double once = (MPI_Wtime() - begin) * 1e6 + 0.01;
  long repeat = (long)(budget_us / kBatches / once);
  if (repeat < 1) repeat = 1;
  double best = -1;
  for (int batch = 0; batch < kBatches; ++batch) {
    begin = MPI_Wtime();
    for (long i = 0; i < repeat; ++i) row->run(w);
    const double each = (MPI_Wtime() - begin) * 1e6 / (double)repeat;
    if (best < 0 || each < best) best = each;
  }
  return best;
}

/* The results of the last accesses: what is in the target's memory, read back. */
static void check(const struct window* w) {
  long value = -1;
  memset(w->own, 1, kMemory);
  puts_2_mib(w);
  memset(w->own, 0, kMemory);
  gets_2_mib(w);
  for (int i = 0; i < kMemory; ++i) {
    if (w->own[i] == 1) continue;
    fprintf(stderr, "one_sided: byte %d is %d, not 1\n", i, w->own[i]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(&value, 1, sizeof value);
  const long expected = value;
  long found = 0;
  const long one = 1;
  MPI_Fetch_and_op(&one, &found, MPI_LONG, w->target, 64, MPI_SUM, w->win);
  MPI_Win_flush(w->target, w->win);
  if (found != expected) {
    fprintf(stderr, "one_sided: fetched %ld, not %ld\n", found, expected);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* Sleeps until rank 0 says that it is over; the target polls without sleeping. */
static void wait_for_end(int sleeps) {
  int over = 0;
  while (!over) {
    MPI_Iprobe(0, kOver, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
    if (sleeps && !over) nanosleep(&(struct timespec){0, kNapNs}, NULL);
  }
  MPI_Recv(NULL, 0, MPI_BYTE, 0, kOver, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void end_others(int size) {
  for (int rank = 1; rank < size; ++rank) MPI_Send(NULL, 0, MPI_BYTE, rank, kOver, MPI_COMM_WORLD);
}

static void run_pair(int target, double budget_us) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct window w = make_window(target);
  MPI_Win_lock_all(0, w.win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = 0; i < kRows; ++i)
      printf("time %s %.3f\n", rows[i].name, best_time(&rows[i], &w, budget_us));
    check(&w);
    end_others(size);
  } else {
    wait_for_end(rank != target);
  }
  MPI_Win_unlock_all(w.win);
  MPI_Win_free(&w.win);
  free(w.own);
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* All ranks, on one machine, leave at the same time: the ranks of one system leave a barrier
 * earlier than those of the other. */
static void await_common_start(void) {
  enum { kTickMs = 100 };
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = (double)((long)(now_ms() / kTickMs) + 1) * kTickMs + kTickMs / 2;
  while (now_ms() < start) {
  }
}

static void lock_put_unlock(const struct window* w) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->target, 0, w->win);
  MPI_Put(w->own, 8, MPI_BYTE, w->target, 0, 8, MPI_BYTE, w->win);
  MPI_Win_unlock(w->target, w->win);
}

static void fence_put_fence(const struct window* w) {
  MPI_Put(w->own, 8, MPI_BYTE, w->target, 0, 8, MPI_BYTE, w->win);
  MPI_Win_fence(0, w->win);
}

/* The slowest rank's time of one call, from a barrier; the median of `repeat`. */
static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median_of(void (*run)(const struct window*), const struct window* w, int active,
                        int repeat) {
  double* times = calloc((size_t)repeat, sizeof *times);
  for (int i = -1; i < repeat; ++i) { /* the first one sets up connections */
    double mine = 0;
    await_common_start();
    const double begin = MPI_Wtime();
    if (active) run(w);
    mine = MPI_Wtime() - begin;
    double slowest = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (i >= 0) times[i] = slowest * 1e6;
  }
  qsort(times, (size_t)repeat, sizeof *times, ascending);
  const double median = times[repeat / 2];
  free(times);
  return median;
}

static void flush_all_targets(const struct window* w) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int to = 1; to < size; ++to) MPI_Put(w->own, 8, MPI_BYTE, to, 0, 8, MPI_BYTE, w->win);
  MPI_Win_flush_all(w->win);
}

static void run_delays(int repeat) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct window w = make_window(size - 1);
  const double lock = median_of(lock_put_unlock, &w, rank == 0, repeat);
  MPI_Win_fence(0, w.win);
  const double fence = median_of(fence_put_fence, &w, 1, repeat);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
  MPI_Win_lock_all(0, w.win);
  const double flush = median_of(flush_all_targets, &w, rank == 0, repeat);
  MPI_Win_unlock_all(w.win);
  if (rank == 0)
    printf("time lock_put_unlock %.3f\ntime fence %.3f\ntime flush_all %.3f\n", lock, fence, flush);
  MPI_Win_free(&w.win);
  free(w.own);
}

static void run_busy(int target) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct window w = make_window(target);
  MPI_Win_lock_all(0, w.win);
  if (rank == 0) put_8(&w); /* what the first access sets up */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    const double begin = MPI_Wtime();
    put_8(&w);
    const double put = (MPI_Wtime() - begin) * 1e6;
    const double next = MPI_Wtime();
    fetch_and_op(&w);
    printf("time put_8 %.3f\ntime fetch_and_op %.3f\n", put, (MPI_Wtime() - next) * 1e6);
  } else if (rank == target) {
    for (const double end = now_ms() + kComputeMs; now_ms() < end;) {
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(w.win);
  MPI_Win_free(&w.win);
  free(w.own);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc == 4 && strcmp(argv[1], "pair") == 0) {
    run_pair(atoi(argv[2]), strtod(argv[3], NULL));
  } else if (argc == 3 && strcmp(argv[1], "delays") == 0) {
    run_delays(atoi(argv[2]));
  } else if (argc == 3 && strcmp(argv[1], "busy") == 0) {
    run_busy(atoi(argv[2]));
  } else {
    fprintf(stderr, "usage: %s pair TARGET MICROSECONDS | delays REPETITIONS | busy TARGET\n",
            argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return 0;
}
