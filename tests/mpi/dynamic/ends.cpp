// SPDX-License-Identifier: Apache-2.0
// The end of connected jobs: in order without MPI_Comm_disconnect, by a child that dies, by
// MPI_Abort of a child. The program is its own child.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/support/check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  REQUIRE_EQUAL(argc, 2);
  const std::string way = argv[1];
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  int value = 7;
  if (parent == MPI_COMM_NULL) {
    MPI_Comm child = MPI_COMM_NULL;
    std::array<char*, 2> arguments{argv[1], nullptr};
    MPI_Comm_spawn(argv[0], arguments.data(), 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child,
                   MPI_ERRCODES_IGNORE);
    value = 0;
    MPI_Bcast(&value, 1, MPI_INT, 0, child);
    if (impishim_test::rank_in(MPI_COMM_WORLD) == 0) std::printf("the child said %d\n", value);
    std::fflush(stdout);
    if (way == "in order") {
      MPI_Finalize();
      return 0;
    }
    MPI_Barrier(child);
    std::printf("went on\n");
  } else {
    MPI_Bcast(&value, 1, MPI_INT, MPI_ROOT, parent);
    if (way == "dies") std::abort();
    if (way == "aborts") MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
  return 0;
}
