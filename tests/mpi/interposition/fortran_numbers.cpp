// SPDX-License-Identifier: Apache-2.0
// Requests and matched messages as Fortran's numbers and back, while they are pending.
#include <mpi.h>

#include <array>
#include <cstdio>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;

void check_requests(int next, int before) {
  const int rank = rank_in(kWorld);
  int value = -1;
  std::array<MPI_Request, 2> requests{};
  MPI_Irecv(&value, 1, MPI_INT, before, 1, kWorld, requests.data());
  MPI_Issend(&rank, 1, MPI_INT, next, 1, kWorld, &requests[1]);
  for (MPI_Request& each : requests) {
    const MPI_Fint number = MPI_Request_c2f(each);
    MPI_Request back = MPI_Request_f2c(number);
    REQUIRE(back == each);
    MPI_Wait(&back, MPI_STATUS_IGNORE);
    REQUIRE(back == MPI_REQUEST_NULL);
  }
  REQUIRE_EQUAL(value, before);
}

void check_message(int next, int before) {
  const int rank = rank_in(kWorld);
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Isend(&rank, 1, MPI_INT, next, 2, kWorld, &send);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Mprobe(before, 2, kWorld, &message, MPI_STATUS_IGNORE);
  MPI_Message back = MPI_Message_f2c(MPI_Message_c2f(message));
  REQUIRE(back == message);
  int value = -1;
  MPI_Mrecv(&value, 1, MPI_INT, &back, MPI_STATUS_IGNORE);
  REQUIRE(back == MPI_MESSAGE_NULL);
  REQUIRE_EQUAL(value, before);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  check_requests((rank + 1) % size, (rank + size - 1) % size);
  check_message((rank + 1) % size, (rank + size - 1) % size);
  REQUIRE(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
  REQUIRE(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL);
  std::printf("rank %d of %d: right\n", rank, size);
  MPI_Finalize();
  return 0;
}
