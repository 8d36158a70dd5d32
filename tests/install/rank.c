// SPDX-License-Identifier: Apache-2.0
// Each rank says who it is. It knows nothing of impishim.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank = 0;
  int size = 0;
  int sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum == size * (size - 1) / 2) printf("rank %d of %d\n", rank, size);
  MPI_Finalize();
}
