// SPDX-License-Identifier: Apache-2.0
// Functions of MPI-1 that later versions deprecated or removed, and that the libraries still
// export: attributes and error handlers of a communicator under their old names.
#define OMPI_OMIT_MPI1_COMPAT_DECLS 0
#include <mpi.h>

#include <cstdio>

#include "tests/support/check.hpp"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

int copied = 0;
int deleted = 0;
int handled = 0;

int copy_value(MPI_Comm from, int /*keyval*/, void* extra_state, void* in, void* out, int* flag) {
  // MPI calls in a callback act on the whole job.
  REQUIRE(extra_state == &copied);
  REQUIRE_EQUAL(size_of(from), size_of(MPI_COMM_WORLD));
  *static_cast<void**>(out) = in;
  *flag = 1;
  ++copied;
  return MPI_SUCCESS;
}

int delete_value(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*extra_state*/) {
  REQUIRE(value == &handled);
  ++deleted;
  return MPI_SUCCESS;
}

void handle_error(MPI_Comm* /*comm*/, int* code, ...) {
  int error_class = 0;
  MPI_Error_class(*code, &error_class);
  REQUIRE_EQUAL(error_class, MPI_ERR_RANK);
  ++handled;
}

void check_attributes() {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Keyval_create(copy_value, delete_value, &keyval, &copied);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  REQUIRE_EQUAL(MPI_Attr_put(comm, keyval, &handled), MPI_SUCCESS);
  void* value = nullptr;
  int found = 0;
  MPI_Attr_get(comm, keyval, static_cast<void*>(&value), &found);
  REQUIRE(found != 0 && value == &handled);
  MPI_Comm second = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &second);
  REQUIRE_EQUAL(copied, 1);
  MPI_Attr_delete(comm, keyval);
  REQUIRE_EQUAL(deleted, 1);
  MPI_Attr_get(comm, keyval, static_cast<void*>(&value), &found);
  REQUIRE_EQUAL(found, 0);
  MPI_Comm_free(&second);
  REQUIRE_EQUAL(deleted, 2);
  MPI_Keyval_free(&keyval);
  REQUIRE_EQUAL(keyval, MPI_KEYVAL_INVALID);
  MPI_Comm_free(&comm);
}

void check_error_handlers() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  // The names below are macros that end the compilation in some headers, unless they are asked for.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Errhandler_create(handle_error, &handler);
  MPI_Errhandler_set(comm, handler);
  MPI_Errhandler set = MPI_ERRHANDLER_NULL;
  MPI_Errhandler_get(comm, &set);
  REQUIRE(set == handler);
  MPI_Send(nullptr, 0, MPI_BYTE, size_of(comm), 0, comm);
  REQUIRE_EQUAL(handled, 1);
  MPI_Errhandler_free(&set);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  check_attributes();
  check_error_handlers();
  std::printf("rank %d of %d: old names work\n", rank_in(MPI_COMM_WORLD), size_of(MPI_COMM_WORLD));
  MPI_Finalize();
  return 0;
}
