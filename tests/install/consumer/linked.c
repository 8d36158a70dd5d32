// SPDX-License-Identifier: Apache-2.0
// A program that is linked with the library, without an impirun that preloads it.
#include <impishim/impishim.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Comm world = MPI_COMM_NULL;
  int size = 0;
  MPI_Init(&argc, &argv);
  if (impishim_comm_world == NULL) return 1;
  if (impishim_comm_world(&world) != MPI_SUCCESS) return 1;
  MPI_Comm_size(world, &size);
  printf("linked, %d in all\n", size);
  return MPI_Finalize();
}
