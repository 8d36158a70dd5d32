// SPDX-License-Identifier: Apache-2.0
// A program that forks. `forks signal`: each rank's child gets SIGUSR1 and dies of it. `forks
// kill`: the last rank's child lives on, with nothing of the parent's open but what the library
// leaves to it, while the parent is killed.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/check.hpp"

namespace {

/// Waits for a signal that ends the child; an alarm does at last.
[[noreturn]] void wait_to_be_ended() {
  alarm(60);
  for (;;) pause();
}

/// What SIGUSR1 does in a child: 0 the default, 1 a handler without information, 2 one with it, as
/// this library's is.
int signal_of_child() {
  const pid_t child = fork();
  if (child == 0) {
    struct sigaction now {};
    sigaction(SIGUSR1, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0) _exit(2);
    _exit(now.sa_handler == SIG_DFL ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

[[noreturn]] void die_before_a_child() {
  int ready[2];
  if (pipe(ready) != 0) std::abort();
  if (fork() == 0) {
    // The launcher waits for the end of these.
    const int nowhere = open("/dev/null", O_RDWR);
    for (int each = 0; each <= 2; ++each) dup2(nowhere, each);
    const char letter = 'r';
    if (write(ready[1], &letter, 1) != 1) _exit(3);
    wait_to_be_ended();
  }
  char letter = 0;
  if (read(ready[0], &letter, 1) != 1) std::abort();
  raise(SIGKILL);
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int last = impishim_test::size_of(MPI_COMM_WORLD) - 1;
  if (argc > 1 && std::strcmp(argv[1], "signal") == 0) {
    std::printf("rank %d: SIGUSR1 in a child: %d\n", rank, signal_of_child());
    MPI_Finalize();
    return 0;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == last) die_before_a_child();
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 4;
}
