// SPDX-License-Identifier: Apache-2.0
// Two jobs that find each other by name. `serve N NAME`: publishes a port, and accepts N jobs one
// after the other. `use NAME`: looks it up, and connects.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/mpi/dynamic/connected_groups.hpp"
#include "tests/mpi/dynamic/connected_objects.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// What a name server refuses.
void check_names(char* service, char* port) {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  REQUIRE_EQUAL(class_of(MPI_Publish_name(service, MPI_INFO_NULL, port)), MPI_ERR_SERVICE);
  char other[] = "another port";
  REQUIRE_EQUAL(class_of(MPI_Unpublish_name(service, MPI_INFO_NULL, other)), MPI_ERR_SERVICE);
  char unknown[] = "no such service";
  std::vector<char> found(MPI_MAX_PORT_NAME);
  REQUIRE_EQUAL(class_of(MPI_Lookup_name(unknown, MPI_INFO_NULL, found.data())), MPI_ERR_NAME);
  REQUIRE_EQUAL(MPI_Lookup_name(service, MPI_INFO_NULL, found.data()), MPI_SUCCESS);
  REQUIRE(std::strcmp(found.data(), port) == 0);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

void serve(int jobs, char* service) {
  const bool root = rank_in(MPI_COMM_WORLD) == 0;
  std::vector<char> port(MPI_MAX_PORT_NAME);
  if (root) {
    MPI_Open_port(MPI_INFO_NULL, port.data());
    MPI_Publish_name(service, MPI_INFO_NULL, port.data());
    check_names(service, port.data());
    std::printf("published\n");
    std::fflush(stdout);
  }
  for (int job = 0; job < jobs; ++job) {
    MPI_Comm client = MPI_COMM_NULL;
    REQUIRE_EQUAL(MPI_Comm_accept(port.data(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &client),
                  MPI_SUCCESS);
    impishim_test::use_connection(client, true);
    impishim_test::use_objects(client, true);
    REQUIRE_EQUAL(MPI_Comm_disconnect(&client), MPI_SUCCESS);
  }
  if (!root) return;
  REQUIRE_EQUAL(MPI_Unpublish_name(service, MPI_INFO_NULL, port.data()), MPI_SUCCESS);
  REQUIRE_EQUAL(MPI_Close_port(port.data()), MPI_SUCCESS);
  std::printf("served %d jobs\n", jobs);
}

void use(char* service) {
  std::vector<char> port(MPI_MAX_PORT_NAME);
  if (rank_in(MPI_COMM_WORLD) == 0)
    REQUIRE_EQUAL(MPI_Lookup_name(service, MPI_INFO_NULL, port.data()), MPI_SUCCESS);
  MPI_Comm server = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_connect(port.data(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &server),
                MPI_SUCCESS);
  impishim_test::use_connection(server, false);
  impishim_test::use_objects(server, false);
  REQUIRE_EQUAL(MPI_Comm_disconnect(&server), MPI_SUCCESS);
  if (rank_in(MPI_COMM_WORLD) == 0) std::printf("used\n");
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  const bool threads = std::getenv("IMPISHIM_TEST_THREADS") != nullptr;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  REQUIRE(argc >= 3);
  if (std::strcmp(argv[1], "serve") == 0) {
    serve(std::atoi(argv[2]), argv[3]);
  } else {
    use(argv[2]);
  }
  MPI_Finalize();
  return 0;
}
