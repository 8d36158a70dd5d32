// SPDX-License-Identifier: Apache-2.0
// What only the standard ABI has: its version, and numbers of handles (MPI-5.0 20.4). Handles of
// this library, too, come back from their numbers: requests to all ranks, groups of all ranks, and
// matched messages.
#include <mpi.h>

#include <cstdio>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kTag = 3;

void constants() {
  REQUIRE_EQUAL(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
  REQUIRE_EQUAL(MPI_Type_toint(MPI_INT), 0x209);
  REQUIRE_EQUAL(MPI_Request_toint(MPI_REQUEST_NULL), 0x180);
  REQUIRE_EQUAL(MPI_Group_toint(MPI_GROUP_EMPTY), 0x109);
  REQUIRE(MPI_Comm_fromint(0x101) == MPI_COMM_WORLD);
  REQUIRE(MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
}

void groups() {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  const MPI_Group same = MPI_Group_fromint(MPI_Group_toint(group));
  REQUIRE(same == group);
  int size = 0;
  MPI_Group_size(same, &size);
  REQUIRE_EQUAL(size, size_of(MPI_COMM_WORLD));
  MPI_Group_free(&group);
}

/// Exchanges messages with another rank, and waits for the receive by its number.
void requests(int peer) {
  const int rank = rank_in(MPI_COMM_WORLD);
  int received = -1;
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Irecv(&received, 1, MPI_INT, peer, kTag, MPI_COMM_WORLD, &receive);
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Isend(&rank, 1, MPI_INT, peer, kTag, MPI_COMM_WORLD, &send);
  const int number = MPI_Request_toint(receive);
  REQUIRE(MPI_Request_fromint(number) == receive);
  receive = MPI_Request_fromint(number);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(received, peer);
}

void messages(int peer) {
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Isend(&rank, 1, MPI_INT, peer, kTag, MPI_COMM_WORLD, &send);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Mprobe(peer, kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Message same = MPI_Message_fromint(MPI_Message_toint(message));
  REQUIRE(same == message);
  int received = -1;
  MPI_Mrecv(&received, 1, MPI_INT, &same, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(received, peer);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int version = 0;
  int subversion = 0;
  MPI_Abi_get_version(&version, &subversion);
  REQUIRE_EQUAL(version, 1);
  REQUIRE_EQUAL(subversion, 0);
  constants();
  groups();
  // With each other rank, and with this one: in round r two ranks whose sum is r meet.
  const int size = size_of(MPI_COMM_WORLD);
  for (int round = 0; round < size; ++round) {
    const int peer = (round - rank_in(MPI_COMM_WORLD) + size) % size;
    requests(peer);
    messages(peer);
  }
  std::printf("rank %d: all handles came back\n", rank_in(MPI_COMM_WORLD));
  MPI_Finalize();
}
