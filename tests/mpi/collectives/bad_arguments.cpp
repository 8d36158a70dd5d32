// SPDX-License-Identifier: Apache-2.0
// Wrong arguments of collectives under MPI_ERRORS_RETURN: the right class, at once, and the
// communicator works as before. For joined jobs whose communicators all span systems: Debian's
// MPICH is built without checks of its own and crashes here.
#include <mpi.h>

#include "communicators.hpp"

namespace {

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

int handler_calls = 0;
MPI_Comm handler_comm = MPI_COMM_NULL;

extern "C" void count_call(MPI_Comm* comm, int* code, ...) {
  ++handler_calls;
  handler_comm = *comm;
  REQUIRE_EQUAL(class_of(*code), MPI_ERR_ROOT);
}

void check_classes(MPI_Comm comm, const char* /*name*/) {
  const int size = impishim_test::size_of(comm);
  int one = 1;
  int two[64] = {};
  REQUIRE_EQUAL(class_of(MPI_Bcast(&one, 1, MPI_INT, size, comm)), MPI_ERR_ROOT);
  REQUIRE_EQUAL(class_of(MPI_Bcast(&one, 1, MPI_INT, -1, comm)), MPI_ERR_ROOT);
  REQUIRE_EQUAL(class_of(MPI_Bcast(&one, -1, MPI_INT, 0, comm)), MPI_ERR_COUNT);
  REQUIRE_EQUAL(class_of(MPI_Bcast(&one, 1, MPI_DATATYPE_NULL, 0, comm)), MPI_ERR_TYPE);
  REQUIRE_EQUAL(class_of(MPI_Reduce(&one, two, 1, MPI_INT, MPI_SUM, size, comm)), MPI_ERR_ROOT);
  REQUIRE_EQUAL(class_of(MPI_Allreduce(&one, two, -1, MPI_INT, MPI_SUM, comm)), MPI_ERR_COUNT);
  REQUIRE_EQUAL(class_of(MPI_Reduce(&one, two, 1, MPI_INT, MPI_OP_NULL, 0, comm)), MPI_ERR_OP);
  REQUIRE_EQUAL(class_of(MPI_Allreduce(&one, two, 1, MPI_INT, MPI_OP_NULL, comm)), MPI_ERR_OP);
  REQUIRE_EQUAL(class_of(MPI_Allreduce(two, two, 1, MPI_INT, MPI_SUM, comm)), MPI_ERR_BUFFER);
  REQUIRE_EQUAL(class_of(MPI_Gather(&one, 1, MPI_INT, two, 1, MPI_INT, -5, comm)), MPI_ERR_ROOT);
  REQUIRE_EQUAL(class_of(MPI_Allgather(&one, -1, MPI_INT, two, 1, MPI_INT, comm)), MPI_ERR_COUNT);
  REQUIRE_EQUAL(class_of(MPI_Allgather(&one, 1, MPI_INT, two, 1, MPI_DATATYPE_NULL, comm)),
                MPI_ERR_TYPE);
  int sum = 0;
  REQUIRE_EQUAL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
  REQUIRE_EQUAL(sum, size);
}

void check_handler() {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_call, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  int one = 1;
  const int code = MPI_Bcast(&one, 1, MPI_INT, 1000000, MPI_COMM_WORLD);
  REQUIRE_EQUAL(class_of(code), MPI_ERR_ROOT);
  REQUIRE_EQUAL(handler_calls, 1);
  REQUIRE(handler_comm == MPI_COMM_WORLD);
  MPI_Errhandler_free(&handler);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD,
                          MPI_ERRORS_RETURN);  // communicators made from it inherit that
  impishim_test::on_each_communicator(check_classes);
  check_handler();
  return impishim_test::finish("bad arguments");
}
