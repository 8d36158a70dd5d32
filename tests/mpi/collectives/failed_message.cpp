// SPDX-License-Identifier: Apache-2.0
// A scan of three ranks in one system. Rank 2 gets a message that is too long from rank 1 before
// rank 0 has started. The scan of rank 2 must not end before it has the message of rank 0, too: the
// vendor writes that message to memory of the scan.
#include <mpi.h>

#include <cstddef>
#include <vector>

#include "communicators.hpp"

namespace {

constexpr int kCount = 200;
constexpr int kTooMany = 300;
constexpr int kTests = 1000;

void tell(int rank) { MPI_Send(nullptr, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD); }

void hear_from(int rank) {
  MPI_Recv(nullptr, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Tests the scan of rank 2 while rank 0 has not started.
void check_incomplete(MPI_Request& scan) {
  hear_from(1);
  int complete = 0;
  int code = MPI_SUCCESS;
  for (int i = 0; i < kTests && complete == 0 && code == MPI_SUCCESS; ++i)
    code = MPI_Test(&scan, &complete, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(code, MPI_SUCCESS);
  REQUIRE_EQUAL(complete, 0);
  tell(0);
}

void check_truncated(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  REQUIRE_EQUAL(error_class, MPI_ERR_TRUNCATE);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  // MPICH's MPI_Test uses the handler of MPI_COMM_WORLD.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int rank = impishim_test::rank_in(comm);
  const int count = rank == 1 ? kTooMany : kCount;
  const std::vector<double> in(static_cast<std::size_t>(count), 1.0);
  std::vector<double> out(in.size(), 0.0);
  if (rank == 0) hear_from(2);
  MPI_Request scan = MPI_REQUEST_NULL;
  REQUIRE_EQUAL(MPI_Iscan(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, comm, &scan),
                MPI_SUCCESS);
  if (rank == 1) tell(2);
  if (rank == 2) check_incomplete(scan);
  const int code = MPI_Wait(&scan, MPI_STATUS_IGNORE);
  if (rank == 2) check_truncated(code);
  MPI_Comm_free(&comm);
  return impishim_test::finish("failed message");
}
