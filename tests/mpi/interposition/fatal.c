// SPDX-License-Identifier: Apache-2.0
/* The default error handler: a refused function ends the job in all systems. For a joined job. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  void* memory = NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win window = MPI_WIN_NULL;
  if (rank == 0) MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Barrier(MPI_COMM_WORLD); /* nobody gets through */
  printf("rank %d went on\n", rank);
  MPI_Finalize();
  return 0;
}
