// SPDX-License-Identifier: Apache-2.0
/* A plain MPI program whose output says all that a library in between might change: results of many
 * kinds of calls, threads and sockets of the process. Run with and without the shim, both outputs
 * must be equal. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int count_threads(void) {
  int threads = 0;
  DIR* directory = opendir("/proc/self/task");
  for (struct dirent* entry = readdir(directory); entry != NULL; entry = readdir(directory))
    threads += entry->d_name[0] != '.';
  closedir(directory);
  return threads;
}

static int count_sockets(void) {
  int sockets = 0;
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    char name[64];
    struct stat facts;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", descriptor);
    sockets += stat(name, &facts) == 0 && S_ISSOCK(facts.st_mode);
  }
  return sockets;
}

static int copies = 0;
static int copy_attribute(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm;
  (void)keyval;
  copies += *(int*)extra;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static void add_squares(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i] * ((int*)in)[i];
}

static int handled = 0;
static void handle(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++handled;
}

static void communicate(int rank, int size) {
  int mine = rank;
  int theirs = -1;
  int sum = 0;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(&theirs, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&mine, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int count = 0;
  MPI_Get_count(&statuses[0], MPI_INT, &count);
  printf("rank %d received %d from %d, tag %d, count %d; sum %d\n", rank, theirs,
         statuses[0].MPI_SOURCE, statuses[0].MPI_TAG, count, sum);
}

static void call_back(int rank) {
  int weight = 3;
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &keyval, &weight);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &weight);
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  MPI_Comm_free(&duplicate);
  MPI_Comm_free_keyval(&keyval);

  MPI_Op op = MPI_OP_NULL;
  int squares = 0;
  MPI_Op_create(add_squares, 0, &op);
  MPI_Reduce(&weight, &squares, 1, MPI_INT, op, 0, MPI_COMM_WORLD);
  MPI_Op_free(&op);

  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  int class = 0;
  MPI_Error_class(MPI_Send(&weight, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD), &class);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  printf("rank %d copied %d, reduced %d, handled %d, class is rank: %d\n", rank, copies, squares,
         handled, class == MPI_ERR_RANK);
}

static void use_files_and_windows(int rank) {
  char path[256];
  int value = rank * 11;
  int read = -1;
  MPI_File file = MPI_FILE_NULL;
  snprintf(path, sizeof(path), "%s", getenv("TRANSPARENT_FILE"));
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof(int), &value, 1, MPI_INT,
                        MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at(file, 0, &read, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);

  MPI_Win window = MPI_WIN_NULL;
  int* memory = NULL;
  int got = -1;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  *memory = rank + 100;
  MPI_Win_fence(0, window);
  MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  printf("rank %d read %d, got %d\n", rank, read, got);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int* tag_ub = NULL;
  int flag = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag);
  printf("rank %d of %d, tag_ub %d\n", rank, size, flag ? *tag_ub : -1);
  communicate(rank, size);
  call_back(rank);
  use_files_and_windows(rank);
  printf("rank %d has %d threads, %d sockets\n", rank, count_threads(), count_sockets());
  MPI_Finalize();
  return 0;
}
