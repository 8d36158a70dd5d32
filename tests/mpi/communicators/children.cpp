// SPDX-License-Identifier: Apache-2.0
// Ranks fork and start other programs in the middle of the job: the children come and go, the job
// notices nothing.
#include <dlfcn.h>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

int status_of(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void round_the_ring() {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  int got = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &got, 1, MPI_INT, (rank + size - 1) % size,
               3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(got, (rank + size - 1) % size);
}

/// Returns true if system() returns the status of its command. With the runtime of gcc 12's
/// ThreadSanitizer it may return 0 in any program.
bool system_tells_status() { return dlsym(RTLD_DEFAULT, "__tsan_init") == nullptr; }

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  round_the_ring();
  const bool told = system_tells_status();
  if (!told)
    std::fputs("the sanitizer's runtime hides the status of system(): not compared\n", stderr);
  for (int i = 0; i < 5; ++i) {
    const pid_t leaves_at_once = fork();
    if (leaves_at_once == 0) _exit(i);
    // exit() runs the program's and the libraries' clean-up in the child as well.
    const pid_t cleans_up = fork();
    if (cleans_up == 0) {
      std::fclose(stdout);  // NOLINT(cppcoreguidelines-owning-memory): it is not ours
      std::exit(i + 10);
    }
    round_the_ring();
    REQUIRE_EQUAL(status_of(leaves_at_once), i);
    REQUIRE_EQUAL(status_of(cleans_up), i + 10);
    const int status = std::system("exit 7") >> 8;
    if (told) REQUIRE_EQUAL(status, 7);
    round_the_ring();
  }
  std::printf("rank %d had 15 children\n", rank_in(MPI_COMM_WORLD));
  MPI_Finalize();
  return 0;
}
