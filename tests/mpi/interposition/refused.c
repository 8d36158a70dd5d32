// SPDX-License-Identifier: Apache-2.0
/* Functions that cannot act on a spanning communicator yet say so by name, through the
 * communicator's own error handler; on a communicator inside one system they work. For a joined
 * job. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;
static int handled = 0;
static MPI_Comm handled_comm = MPI_COMM_NULL;

static void expect(int right, const char* what) {
  if (right) return;
  ++failures;
  printf("wrong: %s\n", what);
}

static void expect_refused(int code, const char* name) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  expect(class == MPI_ERR_UNSUPPORTED_OPERATION, name);
  expect(strstr(text, name) != NULL && (int)strlen(text) == length, text);
}

static void handle(MPI_Comm* comm, int* code, ...) {
  int class = MPI_SUCCESS;
  MPI_Error_class(*code, &class);
  expect(class == MPI_ERR_UNSUPPORTED_OPERATION, "class in the handler");
  int size = 0;
  MPI_Comm_size(*comm, &size); /* a call of the user's, so of the joined job */
  int world = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  expect(size == world, "size in the handler");
  handled_comm = *comm;
  ++handled;
}

static void try_refused(MPI_Comm comm) {
  void* memory = NULL;
  MPI_Win window = MPI_WIN_NULL;
  expect_refused(MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, comm, &memory, &window),
                 "MPI_Win_allocate_shared");
  expect_refused(PMPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, comm, &memory, &window),
                 "MPI_Win_allocate_shared");
}

/* Functions that take a group, and act within a system, say so through the handler of
 * MPI_COMM_WORLD. */
static void try_refused_groups(void) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  int class = MPI_SUCCESS;
  int value = 0;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Win_create(&value, sizeof(value), 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
  int code = MPI_Win_start(group, 0, window);
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  expect(class == MPI_ERR_GROUP && strstr(text, "MPI_Win_start") != NULL, "MPI_Win_start");
  MPI_Win_free(&window);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  code = MPI_Comm_create(MPI_COMM_SELF, group, &made);
  MPI_Error_class(code, &class);
  expect(class == MPI_ERR_GROUP, "MPI_Comm_create");
  code = MPI_Comm_create_group(MPI_COMM_SELF, group, 0, &made);
  MPI_Error_class(code, &class);
  expect(class == MPI_ERR_GROUP, "MPI_Comm_create_group");
  MPI_Group_free(&group);
}

static void try_native(void) {
  int mine = 5;
  int sum = 0;
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  int dims[1] = {1};
  int periods[1] = {0};
  expect(
      MPI_Alltoall(&mine, 1, MPI_INT, &sum, 1, MPI_INT, MPI_COMM_SELF) == MPI_SUCCESS && sum == 5,
      "alltoall with oneself");
  expect(MPI_Scan(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF) == MPI_SUCCESS && sum == 5,
         "scan with oneself");
  expect(MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &cart) == MPI_SUCCESS,
         "cart of oneself");
  MPI_Comm_free(&cart);
  expect(MPI_Comm_group(MPI_COMM_SELF, &group) == MPI_SUCCESS, "group of oneself");
  MPI_Group_free(&group);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  try_refused(MPI_COMM_WORLD);
  try_refused_groups();
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(duplicate, handler);
  try_refused(duplicate);
  expect(handled == 2 && handled_comm == duplicate, "the handler runs once for each");
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&duplicate);
  try_native();
  printf("rank %d of %d: %d failures\n", rank, size, failures);
  MPI_Finalize();
  return failures != 0;
}
