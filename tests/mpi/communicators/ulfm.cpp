// SPDX-License-Identifier: Apache-2.0
// ULFM's functions while nothing is lost: agreements, shrunken communicators, and a revoked one.
#include <mpi.h>

#include <cstdio>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

int failures_acknowledged(MPI_Comm comm) {
  REQUIRE(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS);
  MPI_Group failed = MPI_GROUP_NULL;
  REQUIRE(MPIX_Comm_failure_get_acked(comm, &failed) == MPI_SUCCESS);
  int size = -1;
  MPI_Group_size(failed, &size);
  if (failed != MPI_GROUP_EMPTY) MPI_Group_free(&failed);
  return size;
}

/// The bitwise "and" of all flags, also negative ones.
void agree(MPI_Comm comm) {
  const int size = size_of(comm);
  int flag = ~(1 << rank_in(comm));
  REQUIRE(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS);
  REQUIRE(flag == ~((1 << size) - 1));
  for (int round = 0; round < 20; ++round) {
    flag = rank_in(comm) == round % size ? round : -1;
    REQUIRE(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS);
    REQUIRE(flag == round);
  }
}

void use(MPI_Comm comm, int size) {
  REQUIRE(size_of(comm) == size);
  int sum = 0;
  const int rank = rank_in(comm);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  REQUIRE(sum == size * (size - 1) / 2);
}

/// The last rank revokes: a receive without a message ends, and so do later calls. A message of the
/// program is left in the communicator.
void revoke(MPI_Comm parent) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(parent, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int value = 0;
  MPI_Request left = MPI_REQUEST_NULL;
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 1, comm, &left);
  MPI_Wait(&left, MPI_STATUS_IGNORE);
  if (rank == size - 1) {
    REQUIRE(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
  } else {
    int error_class = 0;
    MPI_Error_class(MPI_Recv(&value, 1, MPI_INT, size - 1, 77, comm, MPI_STATUS_IGNORE),
                    &error_class);
    REQUIRE(error_class == MPIX_ERR_REVOKED);
  }
  int error_class = 0;
  MPI_Error_class(MPI_Barrier(comm), &error_class);
  REQUIRE(error_class == MPIX_ERR_REVOKED);
  MPI_Comm again = MPI_COMM_NULL;
  REQUIRE(MPIX_Comm_shrink(comm, &again) == MPI_SUCCESS);
  use(again, size);
  MPI_Comm_free(&again);
  MPI_Comm_free(&comm);
}

/// The same on a communicator that one process alone, or processes of one system, may have.
void use_inside() {
  REQUIRE(failures_acknowledged(MPI_COMM_SELF) == 0);
  agree(MPI_COMM_SELF);
  MPI_Comm same = MPI_COMM_NULL;
  REQUIRE(MPIX_Comm_shrink(MPI_COMM_SELF, &same) == MPI_SUCCESS);
  use(same, 1);
  MPI_Comm_set_errhandler(same, MPI_ERRORS_RETURN);
  REQUIRE(MPIX_Comm_revoke(same) != MPI_SUCCESS);
  MPI_Comm_free(&same);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  REQUIRE(failures_acknowledged(MPI_COMM_WORLD) == 0);
  agree(MPI_COMM_WORLD);
  MPI_Comm same = MPI_COMM_NULL;
  REQUIRE(MPIX_Comm_shrink(MPI_COMM_WORLD, &same) == MPI_SUCCESS);
  use(same, size_of(MPI_COMM_WORLD));
  agree(same);
  revoke(same);
  use(same, size_of(MPI_COMM_WORLD));
  MPI_Comm_free(&same);
  use_inside();
  if (rank_in(MPI_COMM_WORLD) == 0) std::printf("%d ranks agree\n", size_of(MPI_COMM_WORLD));
  MPI_Finalize();
  return 0;
}
