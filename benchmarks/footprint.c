// SPDX-License-Identifier: Apache-2.0
/* What a job takes that does nothing: after some traffic among all ranks each prints
 *   resident KIB               its resident memory
 *   busy PER_CENT              of one processor, over the seconds that all sleep outside MPI; only
 * if asked for Argument: seconds to sleep, 0: none. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { kLongest = 1 << 20, kRounds = 20 };

static double seconds_of(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* Of all threads of this process, in user space and in the kernel. */
static double processor_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long resident_kib(void) {
  long kib = -1;
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  if (status == NULL) return -1;
  while (fgets(line, sizeof(line), status) != NULL) {
    if (sscanf(line, "VmRSS: %ld kB", &kib) == 1) break;
  }
  fclose(status);
  return kib;
}

/* Short and long messages between any two, so that every path has its buffers. */
static void talk(char* out, char* in, int rank, int size) {
  const int lengths[] = {8, 4096, 65536, kLongest};
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); ++i) {
      for (int step = 1; step < size; ++step) {
        MPI_Sendrecv(out, lengths[i], MPI_CHAR, (rank + step) % size, 0, in, lengths[i], MPI_CHAR,
                     (rank + size - step) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static double busy_per_cent(int seconds) {
  const double begin = now();
  const double used = processor_seconds();
  struct timespec left = {seconds, 0};
  while (nanosleep(&left, &left) != 0) {
  }
  return (processor_seconds() - used) / (now() - begin) * 100;
}

int main(int argc, char** argv) {
  int rank = 0;
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int seconds = argc == 2 ? atoi(argv[1]) : -1;
  char* out = malloc(kLongest);
  char* in = malloc(kLongest);
  if (seconds < 0 || out == NULL || in == NULL) {
    fprintf(stderr, "usage: footprint SECONDS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  memset(out, 1, kLongest);
  memset(in, 1, kLongest);
  talk(out, in, rank, size);
  const long resident = resident_kib();
  const double busy = seconds > 0 ? busy_per_cent(seconds) : 0;
  printf("resident %ld\n", resident);
  if (seconds > 0) printf("busy %.4f\n", busy);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  free(out);
  free(in);
  return 0;
}
