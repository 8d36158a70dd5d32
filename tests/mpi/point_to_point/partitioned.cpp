// SPDX-License-Identifier: Apache-2.0
// Partitioned communication around a ring, so between processes of one system and of two: all ways
// to mark partitions as ready, other numbers of partitions at the two ends, and messages beside it
// that have the same tag.
#include <mpi.h>

#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

#if MPI_VERSION < 4
int main() {
  std::printf("left out: this MPI library has no partitioned communication\n");
  return 0;
}
#else
namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;
constexpr int kTag = 7;

/// What travels to the next rank and comes from the one before.
struct Ring {
  Ring() : rank(rank_in(kWorld)), size(size_of(kWorld)) {}
  int rank;
  int size;
  [[nodiscard]] int next() const { return (rank + 1) % size; }
  [[nodiscard]] int before() const { return (rank + size - 1) % size; }
};

void mark_ready(int round, int partitions, MPI_Request request) {
  switch (round % 4) {
    case 0:
      for (int i = partitions - 1; i >= 0; --i) MPI_Pready(i, request);
      break;
    case 1:
      MPI_Pready_range(0, partitions - 1, request);
      break;
    case 2: {
      std::vector<int> list(static_cast<std::size_t>(partitions));
      std::iota(list.begin(), list.end(), 0);
      MPI_Pready_list(partitions, list.data(), request);
      break;
    }
    default: {
      std::vector<std::thread> threads;
      threads.reserve(static_cast<std::size_t>(partitions));
      for (int i = 0; i < partitions; ++i) threads.emplace_back([=] { MPI_Pready(i, request); });
      for (std::thread& thread : threads) thread.join();
    }
  }
}

/// Sends `partitions` of `count` ints each, and receives them as one partition fewer or more, if
/// that divides the whole.
void check_ring(int partitions, int count, int received) {
  const Ring ring;
  const int total = partitions * count;
  std::vector<int> out(static_cast<std::size_t>(total));
  std::vector<int> in(static_cast<std::size_t>(total), -1);
  MPI_Request requests[2];
  MPI_Psend_init(out.data(), partitions, count, MPI_INT, ring.next(), kTag, kWorld, MPI_INFO_NULL,
                 &requests[0]);
  MPI_Precv_init(in.data(), received, total / received, MPI_INT, ring.before(), kTag, kWorld,
                 MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 8; ++round) {
    std::iota(out.begin(), out.end(), 10000 * ring.rank + round);
    MPI_Startall(2, requests);
    // A message with the same tag does not match it.
    int beside = -1;
    MPI_Sendrecv(&round, 1, MPI_INT, ring.next(), kTag, &beside, 1, MPI_INT, ring.before(), kTag,
                 kWorld, MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(beside, round);
    mark_ready(round, partitions, requests[0]);
    if (round % 2 == 0) {
      for (int i = 0; i < received; ++i) {
        for (int arrived = 0; arrived == 0;) MPI_Parrived(requests[1], i, &arrived);
        REQUIRE_EQUAL(in[static_cast<std::size_t>(i)], 10000 * ring.before() + round + i);
      }
    }
    MPI_Status statuses[2];
    MPI_Waitall(2, requests, statuses);
    int elements = 0;
    MPI_Get_count(&statuses[1], MPI_INT, &elements);
    REQUIRE_EQUAL(elements, total);
    REQUIRE_EQUAL(statuses[1].MPI_SOURCE, ring.before());
    for (int i = 0; i < total; ++i)
      REQUIRE_EQUAL(in[static_cast<std::size_t>(i)], 10000 * ring.before() + round + i);
    in.assign(in.size(), -1);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

/// Operations with the same peer and tag match in the order of their initialisation, whatever is
/// started and ready first.
void check_order() {
  constexpr int kPairs = 3;
  const Ring ring;
  int out[kPairs];
  int in[kPairs];
  MPI_Request sends[kPairs];
  MPI_Request receives[kPairs];
  for (int i = 0; i < kPairs; ++i) {
    MPI_Psend_init(&out[i], 1, 1, MPI_INT, ring.next(), kTag, kWorld, MPI_INFO_NULL, &sends[i]);
    MPI_Precv_init(&in[i], 1, 1, MPI_INT, ring.before(), kTag, kWorld, MPI_INFO_NULL, &receives[i]);
  }
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kPairs; ++i) {
      out[i] = 100 * ring.rank + 10 * round + i;
      in[i] = -1;
    }
    for (int i = 0; i < kPairs; ++i) MPI_Start(&receives[(i + round) % kPairs]);
    for (int i = kPairs - 1; i >= 0; --i) MPI_Start(&sends[i]);
    for (int i = 0; i < kPairs; ++i) MPI_Pready(0, sends[(2 * i + round) % kPairs]);
    MPI_Waitall(kPairs, sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(kPairs, receives, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kPairs; ++i) REQUIRE_EQUAL(in[i], 100 * ring.before() + 10 * round + i);
  }
  for (int i = 0; i < kPairs; ++i) {
    MPI_Request_free(&sends[i]);
    MPI_Request_free(&receives[i]);
  }
}

void check_nothing() {
  MPI_Request request = MPI_REQUEST_NULL;
  int value = 0;
  MPI_Psend_init(&value, 1, 1, MPI_INT, MPI_PROC_NULL, kTag, kWorld, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Pready(0, request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  check_ring(1, 1, 1);
  check_ring(4, 3, 4);
  check_ring(4, 1000, 2);
  check_ring(2, 100000, 8);
  check_order();
  // MPICH 4.0.2 by itself crashes in MPI_Psend_init to MPI_PROC_NULL.
  if (impishim_test::in_joined_job()) check_nothing();
  if (rank_in(kWorld) == 0)
    std::printf("partitioned communication of %d ranks: right\n", size_of(kWorld));
  MPI_Finalize();
  return 0;
}
#endif
