// SPDX-License-Identifier: Apache-2.0
/* The MPI part of a program that loads it with dlopen: RTLD_LOCAL, as Python and others do. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static const char* owner(const void* function) {
  Dl_info facts;
  if (dladdr(function, &facts) == 0) return "?";
  const char* slash = strrchr(facts.dli_fname, '/');
  return slash == NULL ? facts.dli_fname : slash + 1;
}

int run(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = -1;
  int size = -1;
  int sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d, sum %d, MPI_Send in %s, PMPI_Send in %s\n", rank, size, sum,
         owner((const void*)&MPI_Send), owner((const void*)&PMPI_Send));
  MPI_Finalize();
  return 0;
}
