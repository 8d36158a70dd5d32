// SPDX-License-Identifier: Apache-2.0
// Constructors of communicators that fail under MPI_ERRORS_RETURN: the same error class on all
// ranks, as natively, and in a joined job a null handle, whatever stood there before. (Of the MPI
// libraries MPICH makes some of these handles null, Open MPI none.) The communicator works as
// before.
#include <cstdio>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

/// `make` fails: it is given a handle that looks valid.
template <class Make>
void check_failure(int expected_class, Make&& make) {
  MPI_Comm made = MPI_COMM_SELF;
  const int code = make(&made);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  REQUIRE_EQUAL(error_class, expected_class);
  if (impishim_test::in_joined_job()) REQUIRE(made == MPI_COMM_NULL);
  int one = 1;
  int all = 0;
  REQUIRE_EQUAL(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  REQUIRE_EQUAL(all, impishim_test::size_of(MPI_COMM_WORLD));
}

void check_all(MPI_Comm comm) {
  const int size = impishim_test::size_of(comm);
  const int too_big[2] = {size, 2};
  const int periods[2] = {0, 0};
  const int none[1] = {0};
  check_failure(MPI_ERR_ARG, [&](MPI_Comm* made) {
    return MPI_Cart_create(comm, 2, too_big, periods, 0, made);
  });
  check_failure(MPI_ERR_ARG, [&](MPI_Comm* made) {
    return MPI_Cart_create(comm, -1, too_big, periods, 0, made);
  });
  check_failure(MPI_ERR_ARG, [&](MPI_Comm* made) {
    return MPI_Graph_create(comm, size + 1, none, none, 0, made);
  });
  check_failure(MPI_ERR_TOPOLOGY,
                [&](MPI_Comm* made) { return MPI_Cart_sub(comm, periods, made); });
  // MPICH by itself ends the process.
  if (impishim_test::in_joined_job())
    check_failure(MPI_ERR_COMM, [&](MPI_Comm* made) { return MPI_Intercomm_merge(comm, 0, made); });
  check_failure(MPI_ERR_GROUP,
                [&](MPI_Comm* made) { return MPI_Comm_create(comm, MPI_GROUP_NULL, made); });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check_all(MPI_COMM_WORLD);
  if (impishim_test::rank_in(MPI_COMM_WORLD) == 0) std::printf("failed constructors: well\n");
  MPI_Finalize();
  return 0;
}
