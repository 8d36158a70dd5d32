// SPDX-License-Identifier: Apache-2.0
/* A profiling tool of the usual kind, stacked above the shim: counts calls and passes them on to
 * PMPI. */
#include <mpi.h>
#include <stdio.h>

static int calls = 0;
static int largest_rank = -1;

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  ++calls;
  const int code = PMPI_Comm_rank(comm, rank);
  if (*rank > largest_rank) largest_rank = *rank;
  return code;
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  ++calls;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Finalize(void) {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("tool: rank %d of %d saw %d calls, rank %d\n", rank, size, calls, largest_rank);
  fflush(stdout);
  return PMPI_Finalize();
}
