// SPDX-License-Identifier: Apache-2.0
/// What two connected groups do with each other: used by the programs of this folder.
#pragma once

#include <mpi.h>

#include <numeric>
#include <vector>

#include "tests/support/check.hpp"

namespace impishim_test {

inline int remote_size_of(MPI_Comm inter) {
  int size = -1;
  REQUIRE_EQUAL(MPI_Comm_remote_size(inter, &size), MPI_SUCCESS);
  return size;
}

inline std::vector<int> numbers(int count, int first) {
  std::vector<int> made(static_cast<std::size_t>(count));
  std::iota(made.begin(), made.end(), first);
  return made;
}

/// Each member exchanges a short and a long message with each of the other group.
inline void exchange_messages(MPI_Comm inter) {
  const int rank = rank_in(inter);
  const int peers = remote_size_of(inter);
  for (const int count : {1, 100'000}) {
    std::vector<std::vector<int>> sent;
    std::vector<std::vector<int>> received;
    std::vector<MPI_Request> requests;
    for (int peer = 0; peer < peers; ++peer) {
      sent.push_back(numbers(count, 1000 * rank + peer));
      received.emplace_back(static_cast<std::size_t>(count));
    }
    for (int peer = 0; peer < peers; ++peer) {
      const auto place = static_cast<std::size_t>(peer);
      MPI_Irecv(received[place].data(), count, MPI_INT, peer, 7, inter, &requests.emplace_back());
      MPI_Isend(sent[place].data(), count, MPI_INT, peer, 7, inter, &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < peers; ++peer)
      REQUIRE(received[static_cast<std::size_t>(peer)] == numbers(count, 1000 * peer + rank));
  }
}

/// Wildcards find the members of the other group, and statuses name them.
inline void receive_from_any(MPI_Comm inter) {
  const int rank = rank_in(inter);
  const int peers = remote_size_of(inter);
  std::vector<MPI_Request> requests;
  for (int peer = 0; peer < peers; ++peer)
    MPI_Isend(&rank, 1, MPI_INT, peer, 3, inter, &requests.emplace_back());
  std::vector<bool> seen(static_cast<std::size_t>(peers), false);
  for (int i = 0; i < peers; ++i) {
    MPI_Status status;
    int value = -1;
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status);
    MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, inter, &status);
    REQUIRE_EQUAL(value, status.MPI_SOURCE);
    seen[static_cast<std::size_t>(value)] = true;
  }
  for (const bool each : seen) REQUIRE(each);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

/// Collectives of an intercommunicator, rooted in the first group and symmetric.
inline void call_collectives(MPI_Comm inter, bool first) {
  const int rank = rank_in(inter);
  const int peers = remote_size_of(inter);
  int size = 0;
  MPI_Comm_size(inter, &size);
  std::vector<int> data = first ? numbers(500, 42) : std::vector<int>(500);
  const int root = first ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  MPI_Bcast(data.data(), 500, MPI_INT, root, inter);
  if (rank == 0 || !first) REQUIRE(data == numbers(500, 42));
  const int mine = (first ? 100 : 1) * (rank + 1);
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
  REQUIRE_EQUAL(sum, (first ? 1 : 100) * peers * (peers + 1) / 2);
  std::vector<int> all(static_cast<std::size_t>(peers));
  MPI_Allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, inter);
  REQUIRE(all == numbers(peers, 0));
  MPI_Barrier(inter);
}

/// Communicators that are made from the connected groups: merged, split, duplicated.
inline void make_communicators(MPI_Comm inter, bool first) {
  int size = 0;
  MPI_Comm_size(inter, &size);
  const int total = size + remote_size_of(inter);
  for (const bool high : {false, true}) {
    MPI_Comm merged = MPI_COMM_NULL;
    REQUIRE_EQUAL(MPI_Intercomm_merge(inter, first == high ? 1 : 0, &merged), MPI_SUCCESS);
    const int rank = rank_in(merged);
    int merged_size = 0;
    MPI_Comm_size(merged, &merged_size);
    REQUIRE_EQUAL(merged_size, total);
    const int before = first == high ? total - size : 0;
    REQUIRE_EQUAL(rank, before + rank_in(inter));
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    REQUIRE_EQUAL(sum, total * (total - 1) / 2);
    const int next = (rank + 1) % total;
    const int last = (rank + total - 1) % total;
    int got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 0, &got, 1, MPI_INT, last, 0, merged, MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(got, last);
    MPI_Comm part = MPI_COMM_NULL;
    REQUIRE_EQUAL(MPI_Comm_split(merged, rank % 2, -rank, &part), MPI_SUCCESS);
    int greatest = -1;
    MPI_Allreduce(&rank, &greatest, 1, MPI_INT, MPI_MAX, part);
    REQUIRE_EQUAL(greatest % 2, rank % 2);
    int part_size = 0;
    MPI_Comm_size(part, &part_size);
    REQUIRE_EQUAL(part_size, (total + 1 - rank % 2) / 2);
    MPI_Comm_free(&part);
    MPI_Comm_free(&merged);
  }
  MPI_Comm copy = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_dup(inter, &copy), MPI_SUCCESS);
  exchange_messages(copy);
  MPI_Comm_free(&copy);
}

/// Does all of it. `first` is true in one of the two groups.
inline void use_connection(MPI_Comm inter, bool first) {
  int flag = 0;
  MPI_Comm_test_inter(inter, &flag);
  REQUIRE_EQUAL(flag, 1);
  exchange_messages(inter);
  receive_from_any(inter);
  call_collectives(inter, first);
  make_communicators(inter, first);
}

}  // namespace impishim_test
