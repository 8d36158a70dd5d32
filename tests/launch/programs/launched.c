// SPDX-License-Identifier: Apache-2.0
// What the tests of impirun start. The first argument says what to do:
//   hello          prints "rank R of N" and the other arguments
//   status S       finalizes and returns S
//   exit_early S   returns S without having called MPI at all
//   raise S        ends by signal S when all ranks are there
//   wait           prints "ready" when all ranks are there, then receives what nobody sends
//   echo           rank 0 prints what it reads from standard input; the others wait for it
//   lines N        prints N lines, each at once
//   show NAME...   prints the rank, the working directory and the values of variables
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hello(int rank, int size, int argc, char** argv) {
  char line[512];
  int used = snprintf(line, sizeof(line), "rank %d of %d", rank, size);
  for (int i = 2; i < argc; ++i)
    used += snprintf(line + used, sizeof(line) - (size_t)used, " [%s]", argv[i]);
  printf("%s\n", line);
  fprintf(stderr, "error output of rank %d\n", rank);
}

static void show(int rank, int argc, char** argv) {
  char line[1024];
  char directory[512];
  int used = snprintf(line, sizeof(line), "rank %d in %s", rank,
                      getcwd(directory, sizeof(directory)) == NULL ? "?" : directory);
  for (int i = 2; i < argc && used < (int)sizeof(line); ++i) {
    const char* value = getenv(argv[i]);
    used += snprintf(line + used, sizeof(line) - (size_t)used, " %s=%s", argv[i],
                     value == NULL ? "(not set)" : value);
  }
  printf("%s\n", line);
}

static void echo(void) {
  char line[512];
  while (fgets(line, sizeof(line), stdin) != NULL) {
    printf("read: %s", line);
    fflush(stdout);
  }
}

static void lines(int rank, int count) {
  for (int i = 0; i < count; ++i) {
    printf("rank %d line %06d, which is long enough to be taken apart <%d>\n", rank, i, rank);
    fflush(stdout);
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "hello";
  const int status = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(what, "exit_early") == 0) return status;
  int rank = 0;
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(what, "hello") == 0) hello(rank, size, argc, argv);
  if (strcmp(what, "show") == 0) show(rank, argc, argv);
  if (strcmp(what, "echo") == 0 && rank == 0) echo();
  if (strcmp(what, "lines") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    lines(rank, status);
  }
  if (strcmp(what, "raise") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    signal(status, SIG_DFL);  // MPI libraries may have handlers of their own
    if (rank == size - 1) raise(status);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(what, "wait") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    printf("ready\n");
    fflush(stdout);
    MPI_Recv(NULL, 0, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return strcmp(what, "status") == 0 ? status : 0;
}
