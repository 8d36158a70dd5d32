// SPDX-License-Identifier: Apache-2.0
// Names inside one job, which impirun's own name server keeps: the first rank publishes, the last
// one looks up, and both connect.
#include <cstdio>
#include <vector>

#include "tests/mpi/dynamic/connected_groups.hpp"
#include "tests/support/check.hpp"

namespace {

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

char service[] = "a service, with blanks";

void publish_and_accept() {
  std::vector<char> port(MPI_MAX_PORT_NAME);
  MPI_Open_port(MPI_INFO_NULL, port.data());
  REQUIRE_EQUAL(MPI_Publish_name(service, MPI_INFO_NULL, port.data()), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm inter = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_accept(port.data(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_SUCCESS);
  impishim_test::use_connection(inter, true);
  MPI_Comm_disconnect(&inter);
  REQUIRE_EQUAL(MPI_Unpublish_name(service, MPI_INFO_NULL, port.data()), MPI_SUCCESS);
  REQUIRE_EQUAL(MPI_Close_port(port.data()), MPI_SUCCESS);
}

void look_up_and_connect() {
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<char> port(MPI_MAX_PORT_NAME);
  REQUIRE_EQUAL(MPI_Lookup_name(service, MPI_INFO_NULL, port.data()), MPI_SUCCESS);
  MPI_Comm inter = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_connect(port.data(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter),
                MPI_SUCCESS);
  impishim_test::use_connection(inter, false);
  MPI_Comm_disconnect(&inter);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    publish_and_accept();
  } else if (rank == size - 1) {
    look_up_and_connect();
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  // Both vendors raise errors of functions without a communicator on this one.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::vector<char> port(MPI_MAX_PORT_NAME);
  REQUIRE_EQUAL(class_of(MPI_Lookup_name(service, MPI_INFO_NULL, port.data())), MPI_ERR_NAME);
  if (rank == 0) std::printf("names inside a job: right\n");
  MPI_Finalize();
  return 0;
}
