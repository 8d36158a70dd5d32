// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_disconnect waits for what is pending on the communicator (MPI-3.1 10.5.4): long sends
// and receives, from one source and from any, of other systems and of this one, those whose
// requests the program has freed, buffered sends, collectives.
#include <cstdio>
#include <numeric>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kTag = 4;
constexpr int kLong = 1 << 23;      ///< ints: long enough to be on its way while all others meet
constexpr int kBuffered = 1 << 20;  ///< ints
const MPI_Comm kWorld = MPI_COMM_WORLD;

std::vector<int> content(int sender, int size) {
  std::vector<int> data(static_cast<std::size_t>(size));
  std::iota(data.begin(), data.end(), sender * 1000003);
  return data;
}

MPI_Comm duplicate() {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(kWorld, &made);
  return made;
}

void disconnect(MPI_Comm comm) {
  REQUIRE_EQUAL(MPI_Comm_disconnect(&comm), MPI_SUCCESS);
  REQUIRE(comm == MPI_COMM_NULL);
}

/// Looks once, so that nothing is moved on that was not over.
void require_over(MPI_Request& request, MPI_Status& status) {
  int over = 0;
  MPI_Test(&request, &over, &status);
  REQUIRE(over != 0);
}

enum class Sender { kKeeps, kFrees };

/// From the first rank to the last, which posts its receive when the sender stands in the call.
void long_message(Sender form, int source) {
  const int rank = rank_in(kWorld);
  const int last = size_of(kWorld) - 1;
  MPI_Comm comm = duplicate();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  if (rank == 0) {
    const auto data = content(1, kLong);
    MPI_Isend(data.data(), kLong, MPI_INT, last, kTag, comm, &request);
    MPI_Send(nullptr, 0, MPI_INT, last, kTag, kWorld);
    if (form == Sender::kFrees) MPI_Request_free(&request);
    disconnect(comm);
    if (form == Sender::kKeeps) require_over(request, status);
    REQUIRE(request == MPI_REQUEST_NULL);
  } else if (rank == last) {
    std::vector<int> in(kLong);
    MPI_Recv(nullptr, 0, MPI_INT, 0, kTag, kWorld, MPI_STATUS_IGNORE);
    MPI_Irecv(in.data(), kLong, MPI_INT, source, kTag, comm, &request);
    disconnect(comm);
    require_over(request, status);
    REQUIRE_EQUAL(status.MPI_SOURCE, 0);
    int count = 0;
    MPI_Get_count(&status, MPI_INT, &count);
    REQUIRE_EQUAL(count, kLong);
    REQUIRE(in == content(1, kLong));
  } else {
    disconnect(comm);
  }
}

/// The receiver has freed its request: its memory is filled when it is back.
void freed_receive() {
  const int rank = rank_in(kWorld);
  const int last = size_of(kWorld) - 1;
  MPI_Comm comm = duplicate();
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) {
    const auto data = content(2, kLong);
    MPI_Isend(data.data(), kLong, MPI_INT, last, kTag, comm, &request);
    disconnect(comm);
    MPI_Status status;
    require_over(request, status);
  } else if (rank == last) {
    std::vector<int> in(kLong);
    MPI_Irecv(in.data(), kLong, MPI_INT, 0, kTag, comm, &request);
    MPI_Request_free(&request);
    disconnect(comm);
    REQUIRE(in == content(2, kLong));
  } else {
    disconnect(comm);
  }
}

/// Each rank sends to the next, buffered, and has a receive from anybody; a collective is under
/// way, and one request is inactive.
void all_kinds() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  MPI_Comm comm = duplicate();
  std::vector<char> room(kBuffered * sizeof(int) + MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
  std::vector<int> in(kBuffered);
  MPI_Request requests[3];
  int unused = 0;
  int sum = 0;
  // Of another system: MPICH itself waits for the end of inactive requests, too.
  requests[0] = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Recv_init(&unused, 1, MPI_INT, size - 1, kTag + 1, comm, &requests[0]);
  MPI_Irecv(in.data(), kBuffered, MPI_INT, MPI_ANY_SOURCE, kTag, comm, &requests[1]);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[2]);
  const auto data = content(rank, kBuffered);
  MPI_Bsend(data.data(), kBuffered, MPI_INT, (rank + 1) % size, kTag, comm);
  disconnect(comm);
  MPI_Status status;
  require_over(requests[1], status);
  const int before = (rank + size - 1) % size;
  REQUIRE_EQUAL(status.MPI_SOURCE, before);
  REQUIRE(in == content(before, kBuffered));
  require_over(requests[2], status);
  REQUIRE_EQUAL(sum, size * (size - 1) / 2);
  if (rank == 0) MPI_Request_free(&requests[0]);
  void* detached = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(static_cast<void*>(&detached), &bytes);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  long_message(Sender::kKeeps, 0);
  long_message(Sender::kKeeps, MPI_ANY_SOURCE);
  long_message(Sender::kFrees, 0);
  freed_receive();
  all_kinds();
  MPI_Barrier(kWorld);
  if (rank_in(kWorld) == 0)
    std::printf("%d ranks have disconnected: nothing was pending\n", size_of(kWorld));
  MPI_Finalize();
  return 0;
}
