// SPDX-License-Identifier: Apache-2.0
// Ways for a job to end badly; every system must end, soon, and say why. Arguments: how, and the
// rank that does it.
//   abort CODE RANK  MPI_Abort with the code; exit RANK  exit(5) without MPI_Finalize; kill RANK
//   dies by a signal; fatal RANK  an MPI error under MPI_ERRORS_ARE_FATAL
// The others wait for a message that never comes ("... wait"), or compute without calling MPI ("...
// compute").
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/check.hpp"

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  MPI_Init(&argc, &argv);
  const std::string how = argv[1];
  const int culprit = std::atoi(argv[2]);
  const std::string others = argv[3];
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == culprit) {
    if (how.rfind("abort", 0) == 0) MPI_Abort(MPI_COMM_WORLD, std::atoi(how.c_str() + 5));
    if (how == "exit") std::exit(5);
    if (how == "kill") raise(SIGKILL);
    if (how == "fatal")
      MPI_Send(nullptr, 0, MPI_INT, impishim_test::size_of(MPI_COMM_WORLD), 0, MPI_COMM_WORLD);
    return 3;
  }
  if (others == "compute") {
    std::atomic<bool> never{false};
    while (!never.load()) {
    }
  }
  int nothing = 0;
  MPI_Recv(&nothing, 1, MPI_INT, culprit, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::fprintf(stderr, "a message that nobody sent has come\n");
  return 4;
}
