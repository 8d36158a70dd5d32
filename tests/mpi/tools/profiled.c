// SPDX-License-Identifier: Apache-2.0
/* What profiler.c counts: each rank makes the same number of calls, wherever its peers are. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void exchange(int rank, int size, MPI_Comm comm) {
  const int next = (rank + 1) % size;
  const int before = (rank + size - 1) % size;
  int in[2] = {-1, -1};
  MPI_Request requests[2];
  MPI_Irecv(&in[0], 1, MPI_INT, before, 1, comm, &requests[0]);
  MPI_Isend(&rank, 1, MPI_INT, next, 1, comm, &requests[1]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, &requests[0]);
  MPI_Send(&rank, 1, MPI_INT, next, 2, comm);
  MPI_Status status;
  MPI_Waitall(1, requests, &status);
  int swapped = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, before, 3, &swapped, 1, MPI_INT, next, 3, comm,
               MPI_STATUS_IGNORE);
  if (in[0] != before || in[1] != before || swapped != next) MPI_Abort(MPI_COMM_WORLD, 99);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 5; ++round) exchange(rank, size, MPI_COMM_WORLD);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_dup(half, &copy);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
  MPI_Bcast(&sum, 1, MPI_INT, 0, copy);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&half);
  /* Not counted. */
  MPI_Pcontrol(0);
  exchange(rank, size, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(1);
  MPI_Barrier(MPI_COMM_WORLD);
  int* all = calloc((size_t)size * 2, sizeof(int));
  MPI_Alltoall(all, 1, MPI_INT, all + size, 1, MPI_INT, MPI_COMM_WORLD);
  free(all);
  MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  printf("rank %d of %d: done\n", rank, size);
  MPI_Finalize();
  return 0;
}
