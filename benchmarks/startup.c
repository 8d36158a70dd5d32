// SPDX-License-Identifier: Apache-2.0
/* MPI_Init and MPI_Finalize, and nothing between. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
