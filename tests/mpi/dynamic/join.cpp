// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_join between the first and the last rank, over a TCP socket of their own. The socket is
// as it was afterwards.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "tests/mpi/dynamic/connected_groups.hpp"
#include "tests/support/check.hpp"

namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Returns the socket of rank 0, which listens and tells `other` the port.
int accept_one(int other) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  REQUIRE_EQUAL(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  REQUIRE_EQUAL(listen(listener, 1), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const int port = ntohs(address.sin_port);
  MPI_Send(&port, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
  const int made = accept(listener, nullptr, nullptr);
  close(listener);
  return made;
}

int connect_one() {
  int port = 0;
  MPI_Recv(&port, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  REQUIRE_EQUAL(connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return made;
}

void join(int descriptor, bool first) {
  MPI_Comm inter = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_join(descriptor, &inter), MPI_SUCCESS);
  impishim_test::use_connection(inter, first);
  REQUIRE_EQUAL(MPI_Comm_disconnect(&inter), MPI_SUCCESS);
  const char mine = first ? 'a' : 'b';
  char theirs = '\0';
  REQUIRE_EQUAL(write(descriptor, &mine, 1), 1);
  REQUIRE_EQUAL(read(descriptor, &theirs, 1), 1);
  REQUIRE_EQUAL(theirs, first ? 'b' : 'a');
  close(descriptor);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) join(accept_one(size - 1), true);
  if (rank == size - 1) join(connect_one(), false);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("joined over a socket: right\n");
  MPI_Finalize();
  return 0;
}
