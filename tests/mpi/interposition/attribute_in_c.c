// SPDX-License-Identifier: Apache-2.0
/* A predefined attribute as C gets it, for inside_handles.F90. MPICH's keys have other numbers in
 * Fortran. */
#include <mpi.h>

int attribute_in_c_(const MPI_Fint* comm, const MPI_Fint* which) {
  const int keys[] = {MPI_TAG_UB, MPI_APPNUM, MPI_UNIVERSE_SIZE, MPI_WTIME_IS_GLOBAL};
  int* value = 0;
  int flag = 0;
  MPI_Comm_get_attr(MPI_Comm_f2c(*comm), keys[*which - 1], &value, &flag);
  return flag ? *value : -1;
}
