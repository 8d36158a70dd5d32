// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_accept and MPI_Comm_connect between two halves of one job: neighbours, and ranks of
// every second number; one port that accepts several times; what is wrong with a port.
#include <cstdio>
#include <string>
#include <vector>

#include "tests/mpi/dynamic/connected_groups.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;

/// Connects the processes of `half` 0 with the others, and returns the intercommunicator.
MPI_Comm connect_halves(int half, MPI_Comm part, const std::string& port) {
  MPI_Comm inter = MPI_COMM_NULL;
  // The name counts at the root alone.
  const char* name = rank_in(part) == 0 ? port.c_str() : nullptr;
  if (half == 0) {
    REQUIRE_EQUAL(MPI_Comm_accept(const_cast<char*>(name), MPI_INFO_NULL, 0, part, &inter),
                  MPI_SUCCESS);
  } else {
    REQUIRE_EQUAL(MPI_Comm_connect(const_cast<char*>(name), MPI_INFO_NULL, 0, part, &inter),
                  MPI_SUCCESS);
  }
  return inter;
}

/// Opens a port on rank 0 of the world, and tells all ranks its name.
std::string open_port() {
  std::vector<char> name(MPI_MAX_PORT_NAME, '\0');
  if (rank_in(MPI_COMM_WORLD) == 0)
    REQUIRE_EQUAL(MPI_Open_port(MPI_INFO_NULL, name.data()), MPI_SUCCESS);
  // The vendors' MPI_MAX_PORT_NAME differ, and names are shorter than each.
  MPI_Bcast(name.data(), 256, MPI_CHAR, 0, MPI_COMM_WORLD);
  return name.data();
}

void check_wrong_ports(const std::string& closed) {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm made = MPI_COMM_NULL;
  for (const std::string& name : {std::string("no port at all"), closed}) {
    const int code =
        MPI_Comm_connect(const_cast<char*>(name.c_str()), MPI_INFO_NULL, 0, MPI_COMM_SELF, &made);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    REQUIRE_EQUAL(error_class, MPI_ERR_PORT);
    REQUIRE(made == MPI_COMM_NULL);
  }
  const int code = MPI_Close_port(const_cast<char*>(closed.c_str()));
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  REQUIRE_EQUAL(error_class, MPI_ERR_PORT);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string port = open_port();
  for (const bool neighbours : {true, false}) {
    const int half = neighbours ? (rank < size / 2 ? 0 : 1) : rank % 2;
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, half, rank, &part);
    MPI_Comm inter = connect_halves(half, part, port);
    impishim_test::use_connection(inter, half == 0);
    REQUIRE_EQUAL(MPI_Comm_disconnect(&inter), MPI_SUCCESS);
    REQUIRE(inter == MPI_COMM_NULL);
    MPI_Comm_free(&part);
  }
  if (rank == 0) REQUIRE_EQUAL(MPI_Close_port(const_cast<char*>(port.c_str())), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  check_wrong_ports(port);
  MPI_Comm parent = MPI_COMM_WORLD;
  MPI_Comm_get_parent(&parent);
  REQUIRE(parent == MPI_COMM_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("two halves of %d ranks: right\n", size);
  MPI_Finalize();
  return 0;
}
