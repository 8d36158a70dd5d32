// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_free waits for no other process, and what is in progress on the communicator ends as if
// it had not been freed (MPI-3.1 6.4.3): sends, receives from one source and from any, nonblocking
// collectives, duplications, persistent requests.
#include <cstdio>
#include <numeric>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;

MPI_Comm duplicate_of(MPI_Comm comm) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &made);
  return made;
}

void free_it(MPI_Comm& comm) {
  REQUIRE_EQUAL(MPI_Comm_free(&comm), MPI_SUCCESS);
  REQUIRE(comm == MPI_COMM_NULL);
}

/// Two groups, of the lower and the upper half of the ranks.
MPI_Comm bridge() {
  const int rank = rank_in(kWorld);
  const int half = size_of(kWorld) / 2;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_split(kWorld, rank < half ? 0 : 1, rank, &part);
  MPI_Intercomm_create(part, 0, kWorld, rank < half ? half : 0, 9, &made);
  MPI_Comm_free(&part);
  return made;
}

/// The first rank's send ends when the last one, which is past its free, waits for it.
void check_rendezvous(MPI_Comm comm, int last) {
  const int rank = rank_in(kWorld);
  int value = 42;
  if (rank == 0) {
    MPI_Barrier(kWorld);
    MPI_Ssend(&value, 1, MPI_INT, last, 3, comm);
    free_it(comm);
    return;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  int got = 0;
  if (rank == size_of(kWorld) - 1) MPI_Irecv(&got, 1, MPI_INT, 0, 3, comm, &request);
  free_it(comm);
  MPI_Barrier(kWorld);
  MPI_Status status;
  MPI_Wait(&request, &status);
  if (rank != size_of(kWorld) - 1) return;
  REQUIRE_EQUAL(got, 42);
  REQUIRE_EQUAL(status.MPI_SOURCE, 0);
  REQUIRE_EQUAL(status.MPI_TAG, 3);
}

void check_opposite_orders() {
  MPI_Comm one = duplicate_of(kWorld);
  MPI_Comm two = duplicate_of(kWorld);
  const bool odd = rank_in(kWorld) % 2 != 0;
  free_it(odd ? one : two);
  // One that waited for the others in the free above would not come here.
  MPI_Barrier(kWorld);
  free_it(odd ? two : one);
}

/// Everybody sends to the first rank and frees; it has freed before the first message leaves.
void check_messages_in_flight() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  MPI_Comm comm = duplicate_of(kWorld);
  constexpr int kLength = 100000;
  if (rank != 0) {
    const std::vector<int> data(kLength, rank);
    MPI_Barrier(kWorld);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(data.data(), kLength - rank, MPI_INT, 0, 10 + rank, comm, &request);
    free_it(comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return;
  }
  std::vector<std::vector<int>> data(static_cast<std::size_t>(size), std::vector<int>(kLength, -1));
  std::vector<MPI_Request> requests(data.size(), MPI_REQUEST_NULL);
  std::vector<MPI_Status> statuses(data.size());
  for (std::size_t i = 1; i < data.size(); ++i) {
    MPI_Irecv(data[i].data(), kLength, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[i]);
  }
  free_it(comm);
  MPI_Barrier(kWorld);
  MPI_Waitall(size, requests.data(), statuses.data());
  int sources = 0;
  for (std::size_t i = 1; i < data.size(); ++i) {
    const int source = statuses[i].MPI_SOURCE;
    sources += source;
    REQUIRE_EQUAL(statuses[i].MPI_TAG, 10 + source);
    int count = 0;
    MPI_Get_count(&statuses[i], MPI_INT, &count);
    REQUIRE_EQUAL(count, kLength - source);
    REQUIRE_EQUAL(data[i][0], source);
    REQUIRE_EQUAL(data[i][static_cast<std::size_t>(count - 1)], source);
  }
  REQUIRE_EQUAL(sources, size * (size - 1) / 2);
}

/// Open MPI 4.1.4 itself crashes where a collective outlives its communicator, so there only joined
/// runs try it.
bool collectives_outlive_communicators() {
#ifdef OPEN_MPI
  return impishim_test::in_joined_job();
#else
  return true;
#endif
}

void check_collectives(MPI_Comm comm, int expected) {
  const int mine = rank_in(kWorld) + 1;
  int sum = 0;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
  MPI_Ibarrier(comm, &requests[1]);
  if (collectives_outlive_communicators()) free_it(comm);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  REQUIRE_EQUAL(sum, expected);
  if (comm != MPI_COMM_NULL) free_it(comm);
}

/// Round the ring, and from anybody: started again and again when the communicator has gone.
void check_persistent() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  MPI_Comm comm = duplicate_of(kWorld);
  int value = 0;
  int got[2] = {-1, -1};
  MPI_Request requests[4];
  MPI_Send_init(&value, 1, MPI_INT, (rank + 1) % size, 1, comm, &requests[0]);
  MPI_Send_init(&value, 1, MPI_INT, (rank + 1) % size, 2, comm, &requests[1]);
  MPI_Recv_init(&got[0], 1, MPI_INT, (rank + size - 1) % size, 1, comm, &requests[2]);
  MPI_Recv_init(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, &requests[3]);
  free_it(comm);
  for (int round = 0; round < 5; ++round) {
    value = 100 * round + rank;
    MPI_Startall(4, requests);
    MPI_Status statuses[4];
    MPI_Waitall(4, requests, statuses);
    const int from = (rank + size - 1) % size;
    for (int i = 0; i < 2; ++i) {
      REQUIRE_EQUAL(got[i], 100 * round + from);
      REQUIRE_EQUAL(statuses[2 + i].MPI_SOURCE, from);
    }
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

int deleted = 0;
int count_deletion(MPI_Comm, int, void*, void*) {
  ++deleted;
  return MPI_SUCCESS;
}
int copy(MPI_Comm, int, void*, void* value, void* out, int* flag) {
  *static_cast<void**>(out) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

/// The parent goes while it is being duplicated; its attributes have been copied as they were at
/// the call.
void check_duplication() {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(copy, count_deletion, &keyval, nullptr);
  MPI_Comm comm = duplicate_of(kWorld);
  int value = 7;
  MPI_Comm_set_attr(comm, keyval, &value);
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(comm, &twin, &request);
  if (collectives_outlive_communicators()) free_it(comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (comm != MPI_COMM_NULL) free_it(comm);
  MPI_Barrier(twin);
  int* found_value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(twin, keyval, &found_value, &found);
  REQUIRE(found != 0 && found_value == &value);
  free_it(twin);
  REQUIRE_EQUAL(deleted, 2);
  // Without a duplication in progress callbacks run inside the call, whatever else is.
  comm = duplicate_of(kWorld);
  MPI_Comm_set_attr(comm, keyval, &value);
  if (collectives_outlive_communicators()) MPI_Ibarrier(comm, &request);
  free_it(comm);
  // MPICH's own callbacks run when the collective is over.
  if (impishim_test::in_joined_job()) REQUIRE_EQUAL(deleted, 3);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(deleted, 3);
  MPI_Comm_free_keyval(&keyval);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int size = size_of(kWorld);
  const int half = size / 2;
  check_rendezvous(duplicate_of(kWorld), size - 1);
  check_rendezvous(impishim_test::world_by(rank_in(kWorld)), size - 1);
  check_rendezvous(bridge(), size - 1 - half);
  check_opposite_orders();
  check_messages_in_flight();
  const int lower = half * (half + 1) / 2;
  const int all = size * (size + 1) / 2;
  check_collectives(duplicate_of(kWorld), all);
  check_collectives(bridge(), rank_in(kWorld) < half ? all - lower : lower);
  check_persistent();
  check_duplication();
  // The call that waits.
  MPI_Comm last = duplicate_of(kWorld);
  MPI_Comm_disconnect(&last);
  REQUIRE(last == MPI_COMM_NULL);
  if (rank_in(kWorld) == 0) std::printf("communicators freed on %d ranks: right\n", size);
  MPI_Finalize();
}
