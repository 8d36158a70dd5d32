// SPDX-License-Identifier: Apache-2.0
/* A collective write: all ranks write one file together, each one part of it. Plain MPI: built for
 * every MPI library alike. Checks the file. Prints lines `time NAME microseconds`.
 *
 * usage: files PATH MEBIBYTES ROUNDS always|never
 *   never: systems ship their data as if they had no common file system */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMebibyte = 1 << 20 };

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static void fail(const char* what) {
  fprintf(stderr, "files: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

struct job {
  int rank;
  int ranks;
  const char* path;
  int bytes; /* of each rank */
  char* data;
  MPI_Info hints;
};

/* Returns the time of one write, from a common start to the end of MPI_File_close on the last rank,
 * in microseconds. */
static double write_once(const struct job* job) {
  MPI_File file;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (MPI_File_open(MPI_COMM_WORLD, job->path, MPI_MODE_CREATE | MPI_MODE_RDWR, job->hints,
                    &file) != MPI_SUCCESS)
    fail("cannot open the file");
  if (MPI_File_write_at_all(file, (MPI_Offset)job->rank * job->bytes, job->data, job->bytes,
                            MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    fail("cannot write");
  MPI_File_close(&file);
  double mine = (MPI_Wtime() - start) * 1e6;
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

/* Rank 0 reads a few bytes of each part. */
static void check_file(const struct job* job) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (job->rank != 0) return;
  FILE* file = fopen(job->path, "rb");
  if (file == NULL) fail("there is no file");
  for (int part = 0; part < job->ranks; ++part) {
    for (int end = 0; end < 2; ++end) {
      char byte = 0;
      fseek(file, (long)part * job->bytes + (end ? job->bytes - 1 : 0), SEEK_SET);
      if (fread(&byte, 1, 1, file) != 1 || byte != (char)(part + 1)) fail("the file is wrong");
    }
  }
  fclose(file);
  remove(job->path);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) fail("usage: files PATH MEBIBYTES ROUNDS always|never");
  struct job job = {0, 0, argv[1], 0, NULL, MPI_INFO_NULL};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  job.bytes = atoi(argv[2]) / job.ranks * kMebibyte;
  const int rounds = atoi(argv[3]);
  job.data = malloc((size_t)job.bytes);
  memset(job.data, job.rank + 1, (size_t)job.bytes);
  MPI_Info_create(&job.hints);
  MPI_Info_set(job.hints, "impishim_file_sharing", argv[4]);
  double* times = malloc((size_t)rounds * sizeof(double));
  for (int round = 0; round < rounds; ++round) times[round] = write_once(&job);
  check_file(&job);
  qsort(times, (size_t)rounds, sizeof(double), compare);
  if (job.rank == 0) printf("time write %.1f\n", times[rounds / 2]);
  MPI_Info_free(&job.hints);
  free(times);
  free(job.data);
  MPI_Finalize();
  return 0;
}
