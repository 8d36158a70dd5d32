// SPDX-License-Identifier: Apache-2.0
// Duplicates and splits of the world in every shape: interleaved and reversed between systems,
// inside systems, of one process, left out; freed and made again; duplicates of duplicates. Each
// new communicator proves its ranks by messages and a reduction.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::check_members;
using impishim_test::rank_in;
using impishim_test::size_of;

int compare(MPI_Comm one, MPI_Comm two) {
  int result = -1;
  REQUIRE_EQUAL(MPI_Comm_compare(one, two, &result), MPI_SUCCESS);
  return result;
}

template <class Color, class Key>
void check_split(MPI_Comm parent, Color color_of, Key key_of) {
  const int size = size_of(parent);
  const int rank = rank_in(parent);
  std::vector<int> world_ranks(static_cast<std::size_t>(size));
  const int world_rank = rank_in(MPI_COMM_WORLD);
  MPI_Allgather(&world_rank, 1, MPI_INT, world_ranks.data(), 1, MPI_INT, parent);

  MPI_Comm part = MPI_COMM_WORLD;
  REQUIRE_EQUAL(MPI_Comm_split(parent, color_of(rank), key_of(rank), &part), MPI_SUCCESS);
  if (color_of(rank) == MPI_UNDEFINED) {
    REQUIRE(part == MPI_COMM_NULL);
    return;
  }
  std::vector<int> chosen;
  for (int each = 0; each < size; ++each) {
    if (color_of(each) == color_of(rank)) chosen.push_back(each);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](int a, int b) { return key_of(a) < key_of(b); });
  std::vector<int> members;
  for (const int each : chosen) members.push_back(world_ranks[static_cast<std::size_t>(each)]);
  check_members(part, members);
  int inter = 1;
  MPI_Comm_test_inter(part, &inter);
  REQUIRE_EQUAL(inter, 0);
  REQUIRE_EQUAL(MPI_Comm_free(&part), MPI_SUCCESS);
  REQUIRE(part == MPI_COMM_NULL);
}

void check_all_splits(MPI_Comm parent) {
  const int size = size_of(parent);
  const auto by_rank = [](int rank) { return rank; };
  const auto all_equal = [](int) { return 7; };
  check_split(parent, all_equal, all_equal);                       // as it is
  check_split(parent, all_equal, [](int rank) { return -rank; });  // reversed
  check_split(parent, all_equal,
              [&](int rank) { return (rank * 7 + 3) % size; });  // shuffled, with ties
  check_split(
      parent, [](int rank) { return rank % 2; }, by_rank);  // alternating
  check_split(
      parent, [](int rank) { return rank % 2; }, [](int rank) { return -rank; });  // both
  check_split(
      parent, [&](int rank) { return rank < size / 2 ? 1 : 0; }, by_rank);  // halves
  check_split(parent, by_rank, by_rank);                                    // everybody alone
  check_split(
      parent, [](int rank) { return rank == 0 ? MPI_UNDEFINED : 3; },
      by_rank);  // without the first
  check_split(
      parent, [&](int rank) { return rank == size - 1 ? MPI_UNDEFINED : 3; },
      by_rank);  // without the last
  check_split(
      parent, [](int rank) { return rank % 2 == 1 ? MPI_UNDEFINED : 0; },
      by_rank);  // every other one
  check_split(
      parent, [](int) { return MPI_UNDEFINED; }, by_rank);  // nobody
}

void check_duplicates() {
  const int size = size_of(MPI_COMM_WORLD);
  std::vector<int> everybody(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) everybody[static_cast<std::size_t>(rank)] = rank;
  MPI_Comm first = MPI_COMM_NULL;
  MPI_Comm second = MPI_COMM_NULL;
  MPI_Comm with_info = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_dup(first, &second);
  MPI_Comm_dup_with_info(second, MPI_INFO_NULL, &with_info);
  for (MPI_Comm each : {first, second, with_info}) {
    check_members(each, everybody);
    REQUIRE_EQUAL(compare(MPI_COMM_WORLD, each), MPI_CONGRUENT);
    REQUIRE_EQUAL(compare(each, each), MPI_IDENT);
  }
  // A message on one communicator is no message on another.
  const int rank = rank_in(MPI_COMM_WORLD);
  const int next = (rank + 1) % size;
  const int before = (rank + size - 1) % size;
  const int values[3] = {rank, rank + 100, rank + 200};
  MPI_Request requests[3];
  MPI_Isend(&values[0], 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&values[1], 1, MPI_INT, next, 0, first, &requests[1]);
  MPI_Isend(&values[2], 1, MPI_INT, next, 0, second, &requests[2]);
  int got[3] = {-1, -1, -1};
  MPI_Recv(&got[2], 1, MPI_INT, before, 0, second, MPI_STATUS_IGNORE);
  MPI_Recv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, 0, first, MPI_STATUS_IGNORE);
  MPI_Recv(&got[0], 1, MPI_INT, before, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 3; ++i) REQUIRE_EQUAL(got[i], before + 100 * i);

  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(first, 0, -rank, &reversed);
  if (size > 1) REQUIRE_EQUAL(compare(first, reversed), MPI_SIMILAR);
  REQUIRE_EQUAL(compare(first, MPI_COMM_SELF), size > 1 ? MPI_UNEQUAL : MPI_CONGRUENT);
  check_all_splits(reversed);
  MPI_Comm_free(&first);
  check_all_splits(second);
  MPI_Comm_free(&second);
  MPI_Comm_free(&reversed);
  REQUIRE_EQUAL(MPI_Comm_disconnect(&with_info), MPI_SUCCESS);
  REQUIRE(with_info == MPI_COMM_NULL);
}

/// A receive that is pending when its communicator is freed still completes (MPI-3.1 6.4.3).
void check_free_with_pending_receive() {
  const int size = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  int got = -1;
  MPI_Request requests[2];
  MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 1, twin, &requests[0]);
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 1, twin, &requests[1]);
  MPI_Comm_free(&twin);
  MPI_Status statuses[2];
  MPI_Waitall(2, requests, statuses);
  REQUIRE_EQUAL(got, (rank + size - 1) % size);
  REQUIRE_EQUAL(statuses[0].MPI_SOURCE, (rank + size - 1) % size);
}

void check_shared_memory_split() {
  MPI_Comm node = MPI_COMM_NULL;
  const int rank = rank_in(MPI_COMM_WORLD);
  REQUIRE_EQUAL(
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node),
      MPI_SUCCESS);
  REQUIRE(size_of(node) >= 1 && size_of(node) <= size_of(MPI_COMM_WORLD));
  int lowest = -1;
  MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, node);
  // Systems have consecutive ranks, and here a system is on one node.
  REQUIRE_EQUAL(rank - lowest, rank_in(node));
  MPI_Comm_free(&node);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_all_splits(MPI_COMM_WORLD);
  check_duplicates();
  check_free_with_pending_receive();
  check_shared_memory_split();
  // Many generations: handles and contexts come back.
  for (int round = 0; round < 200; ++round) {
    MPI_Comm twin = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    int sum = 0;
    MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, twin);
    REQUIRE_EQUAL(sum, round * size_of(MPI_COMM_WORLD));
    MPI_Comm_free(&twin);
  }
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("communicators of %d ranks: right\n", size_of(MPI_COMM_WORLD));
  MPI_Finalize();
  return 0;
}
