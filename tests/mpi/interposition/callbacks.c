// SPDX-License-Identifier: Apache-2.0
/* MPI calls in functions that the MPI library calls are the user's: they see the joined job. Every
 * function notes the size of MPI_COMM_WORLD; the output is the same for a native job of as many
 * processes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int expected = 0;
static int wrong = 0;
static int calls = 0;

static void look(void) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  wrong += size != expected;
  ++calls;
}

static int copy_comm(MPI_Comm c, int key, void* extra, void* in, void* out, int* flag) {
  (void)c, (void)key, (void)extra;
  look();
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}
static int copy_type(MPI_Datatype t, int key, void* extra, void* in, void* out, int* flag) {
  return copy_comm(MPI_COMM_NULL, key + (t == MPI_DATATYPE_NULL), extra, in, out, flag);
}
static int delete_comm(MPI_Comm c, int key, void* value, void* extra) {
  (void)c, (void)key;
  wrong += value != extra;
  look();
  return MPI_SUCCESS;
}
static int delete_type(MPI_Datatype t, int key, void* value, void* extra) {
  return delete_comm(MPI_COMM_NULL, key + (t == MPI_DATATYPE_NULL), value, extra);
}
static int delete_win(MPI_Win w, int key, void* value, void* extra) {
  return delete_comm(MPI_COMM_NULL, key + (w == MPI_WIN_NULL), value, extra);
}
static void handle_win(MPI_Win* w, int* code, ...) {
  (void)w, (void)code;
  look();
}
static void handle_file(MPI_File* f, int* code, ...) {
  (void)f, (void)code;
  look();
}
static void handle_comm(MPI_Comm* c, int* code, ...) {
  (void)c, (void)code;
  look();
}
static void combine(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size); /* how often it is called is the library's choice */
  wrong += size != expected;
}
static int query(void* extra, MPI_Status* status) {
  (void)extra;
  look();
  MPI_Status_set_elements(status, MPI_INT, 3);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 5;
  status->MPI_TAG = 6;
  return MPI_SUCCESS;
}
static int release(void* extra) {
  *(int*)extra += 1;
  look();
  return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
  (void)extra;
  wrong += complete != 0;
  look();
  return MPI_SUCCESS;
}

static void attributes(void) {
  int key = MPI_KEYVAL_INVALID;
  int type_key = MPI_KEYVAL_INVALID;
  int win_key = MPI_KEYVAL_INVALID;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Datatype other = MPI_DATATYPE_NULL;
  MPI_Win win = MPI_WIN_NULL;
  int memory = 0;
  MPI_Comm_create_keyval(copy_comm, delete_comm, &key, &expected);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &expected);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_free(&comm);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  MPI_Comm_free_keyval(&key);
  MPI_Type_create_keyval(copy_type, delete_type, &type_key, &expected);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, type_key, &expected);
  MPI_Type_dup(type, &other);
  MPI_Type_free(&type);
  MPI_Type_free(&other);
  MPI_Type_free_keyval(&type_key);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_win, &win_key, &expected);
  MPI_Win_create(&memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_attr(win, win_key, &expected);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Win_create_errhandler(handle_win, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
  MPI_Errhandler_free(&handler);
  MPI_Win_free(&win);
  MPI_Win_free_keyval(&win_key);
}

static void handlers_and_requests(void) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_File file = MPI_FILE_NULL;
  MPI_File_create_errhandler(handle_file, &handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);
  MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  MPI_Comm_create_errhandler(handle_comm, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);

  int released = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int count = 0;
  MPI_Grequest_start(query, release, cancel, &released, &request);
  MPI_Cancel(&request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, &status);
  MPI_Get_elements(&status, MPI_INT, &count);
  wrong += released != 1 || count != 3 || status.MPI_SOURCE != 5 || status.MPI_TAG != 6;

  MPI_Op op = MPI_OP_NULL;
  int one = 1;
  int sum = 0;
  MPI_Op_create(combine, 1, &op);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
  wrong += sum != expected;
  MPI_Op_free(&op);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  expected = argc > 1 ? atoi(argv[1]) : 0;
  attributes();
  handlers_and_requests();
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(copy_comm, delete_comm, &key, &expected);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, &expected);
  MPI_Finalize(); /* deletes it */
  /* 3 of the communicator keyval, 1 of MPI_COMM_SELF, 3 of the type, 2 of the window, 2 handlers, 3
   * of the request */
  printf("%d calls, %d wrong\n", calls, wrong);
  return wrong != 0;
}
