// SPDX-License-Identifier: Apache-2.0
// An error handler of a session: MPI calls in it act on the whole job.
#include <mpi.h>

#include <cstdio>

#include "tests/support/check.hpp"

namespace {

int handled = 0;

void handle_error(MPI_Session* /*session*/, int* code, ...) {
  REQUIRE_EQUAL(*code, MPI_ERR_OTHER);
  int sum = 0;
  const int one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  handled += sum;
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  REQUIRE_EQUAL(MPI_Session_create_errhandler(handle_error, &handler), MPI_SUCCESS);
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Session_init(MPI_INFO_NULL, handler, &session);
  MPI_Session_set_errhandler(session, handler);
  MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
  MPI_Errhandler_free(&handler);
  MPI_Session_finalize(&session);
  std::printf("rank %d: the handler met %d ranks\n", impishim_test::rank_in(MPI_COMM_WORLD),
              handled);
  MPI_Finalize();
  return 0;
}
