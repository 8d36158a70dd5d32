// SPDX-License-Identifier: Apache-2.0
// The start of a persistent collective on a broken communicator raises its error once.
#include <mpi.h>

#include "communicators.hpp"

namespace {

int raised = 0;

void count_error(MPI_Comm* /*comm*/, int* /*code*/, ...) { ++raised; }

/// One rank passes a wrong argument, so that all collectives of `comm` fail from then on.
void break_collectives(MPI_Comm comm) {
  const bool wrong = impishim_test::rank_in(comm) == 1;
  const int one = 1;
  int sum = 0;
  const int code = MPI_Allreduce(&one, &sum, wrong ? -1 : 1, MPI_INT, MPI_SUM, comm);
  REQUIRE(code != MPI_SUCCESS);
  REQUIRE_EQUAL(raised, 1);
  // The wrong rank learns in its next collective that the others took part.
  REQUIRE(MPI_Barrier(comm) != MPI_SUCCESS);
  REQUIRE_EQUAL(raised, 2);
}

#if MPI_VERSION >= 4
void check_start(MPI_Comm comm) {
  const int one = 1;
  int sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  REQUIRE_EQUAL(MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request),
                MPI_SUCCESS);
  break_collectives(comm);
  REQUIRE(MPI_Start(&request) != MPI_SUCCESS);
  REQUIRE_EQUAL(raised, 3);
  REQUIRE_EQUAL(MPI_Request_free(&request), MPI_SUCCESS);
}
#else
void check_start(MPI_Comm comm) { break_collectives(comm); }
#endif

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  check_start(comm);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  return impishim_test::finish("raised once");
}
