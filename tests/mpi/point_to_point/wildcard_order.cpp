// SPDX-License-Identifier: Apache-2.0
// MPI_ANY_SOURCE and MPI_ANY_TAG among senders of one's own and of other systems: no message
// overtakes another of its sender, posted receives match in the order of posting, and every message
// comes exactly once.
#include <vector>

#include "tests/support/check.hpp"

namespace {

struct Message {
  int source;
  int number;
};

/// Rank 0 takes messages from everybody, one blocking receive at a time.
void blocking(int rank, int ranks, int messages) {
  if (rank != 0) {
    for (int i = 0; i < messages; ++i) {
      const Message message{rank, i};
      MPI_Send(&message, 2, MPI_INT, 0, i % 3, MPI_COMM_WORLD);
    }
    return;
  }
  std::vector<int> next(static_cast<std::size_t>(ranks), 0);
  for (int i = 0; i < messages * (ranks - 1); ++i) {
    Message message{};
    MPI_Status status;
    MPI_Recv(&message, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    REQUIRE_EQUAL(status.MPI_SOURCE, message.source);
    REQUIRE_EQUAL(status.MPI_TAG, message.number % 3);
    REQUIRE_EQUAL(message.number, next[static_cast<std::size_t>(message.source)]++);
  }
}

/// Everybody posts many receives before anybody sends: of one sender, an earlier receive has the
/// earlier message.
void posted(int rank, int ranks, int messages) {
  const int total = messages * (ranks - 1);
  std::vector<Message> in(static_cast<std::size_t>(total));
  std::vector<MPI_Request> requests(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    MPI_Irecv(&in[i], 2, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<Message> out(static_cast<std::size_t>(messages));
  for (int i = 0; i < messages; ++i) {
    out[static_cast<std::size_t>(i)] = {rank, i};
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != rank)
        MPI_Send(&out[static_cast<std::size_t>(i)], 2, MPI_INT, peer, 4, MPI_COMM_WORLD);
    }
  }
  std::vector<MPI_Status> statuses(in.size());
  MPI_Waitall(total, requests.data(), statuses.data());
  std::vector<int> next(static_cast<std::size_t>(ranks), 0);
  for (std::size_t i = 0; i < in.size(); ++i) {
    REQUIRE_EQUAL(statuses[i].MPI_SOURCE, in[i].source);
    REQUIRE_EQUAL(in[i].number, next[static_cast<std::size_t>(in[i].source)]++);
  }
}

/// Receives from one sender and from any, in turn: a sender's n-th message belongs to the first
/// receive that accepts it.
void mixed(int rank, int ranks, int rounds) {
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  for (int round = 0; round < rounds; ++round) {
    int in[4] = {-1, -1, -1, -1};
    MPI_Request requests[4];
    MPI_Irecv(&in[0], 1, MPI_INT, previous, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(&in[2], 1, MPI_INT, previous, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[2]);
    MPI_Irecv(&in[3], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[3]);
    // Nobody else's barrier can come between: it is not point-to-point.
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 4; ++i) {
      const int value = round * 10 + i;
      MPI_Send(&value, 1, MPI_INT, next, 6, MPI_COMM_WORLD);
    }
    MPI_Status statuses[4];
    MPI_Waitall(4, requests, statuses);
    for (int i = 0; i < 4; ++i) {
      REQUIRE_EQUAL(in[i], round * 10 + i);
      REQUIRE_EQUAL(statuses[i].MPI_SOURCE, previous);
      REQUIRE_EQUAL(statuses[i].MPI_TAG, 6);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// Long and synchronous messages into wildcards, from near and far at once.
void large(int rank, int ranks) {
  const int size = 200000;
  if (rank != 0) {
    std::vector<int> out(size, rank);
    MPI_Send(out.data(), size, MPI_INT, 0, 8, MPI_COMM_WORLD);
    MPI_Ssend(out.data(), 10, MPI_INT, 0, 8, MPI_COMM_WORLD);
    return;
  }
  std::vector<std::vector<int>> in(static_cast<std::size_t>(2 * (ranks - 1)),
                                   std::vector<int>(size, -1));
  std::vector<MPI_Request> requests(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    MPI_Irecv(in[i].data(), size, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &requests[i]);
  }
  std::vector<int> seen(static_cast<std::size_t>(ranks), 0);
  for (std::size_t i = 0; i < in.size(); ++i) {
    int index = -1;
    MPI_Status status;
    MPI_Waitany(static_cast<int>(in.size()), requests.data(), &index, &status);
    int count = 0;
    MPI_Get_count(&status, MPI_INT, &count);
    REQUIRE(count == size || count == 10);
    const auto& data = in[static_cast<std::size_t>(index)];
    for (int j = 0; j < count; ++j)
      REQUIRE_EQUAL(data[static_cast<std::size_t>(j)], status.MPI_SOURCE);
    if (count < size) REQUIRE_EQUAL(data[static_cast<std::size_t>(count)], -1);
    ++seen[static_cast<std::size_t>(status.MPI_SOURCE)];
  }
  for (int peer = 1; peer < ranks; ++peer) REQUIRE_EQUAL(seen[static_cast<std::size_t>(peer)], 2);
}

/// A receive from anybody stays open over many other operations, local and remote ones, that must
/// go on (collectives too).
void open_for_long(int rank, int ranks) {
  int late = -1;
  MPI_Request request;
  MPI_Irecv(&late, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &request);
  for (int round = 0; round < 20; ++round) {
    int value = rank;
    const int next = (rank + 1 + round % (ranks - 1)) % ranks;
    const int previous = (rank + ranks - 1 - round % (ranks - 1)) % ranks;
    int got = -1;
    MPI_Sendrecv(&value, 1, MPI_INT, next, 10, &got, 1, MPI_INT, previous, 10, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(got, previous);
    int sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    REQUIRE_EQUAL(sum, ranks * (ranks - 1) / 2);
  }
  const int value = 1000 + rank;
  MPI_Send(&value, 1, MPI_INT, (rank + 1) % ranks, 9, MPI_COMM_WORLD);
  MPI_Status status;
  MPI_Wait(&request, &status);
  REQUIRE_EQUAL(status.MPI_SOURCE, (rank + ranks - 1) % ranks);
  REQUIRE_EQUAL(late, 1000 + status.MPI_SOURCE);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int ranks = impishim_test::size_of(MPI_COMM_WORLD);
  blocking(rank, ranks, 500);
  MPI_Barrier(MPI_COMM_WORLD);
  posted(rank, ranks, 200);
  MPI_Barrier(MPI_COMM_WORLD);
  mixed(rank, ranks, 50);
  large(rank, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  open_for_long(rank, ranks);
  if (rank == 0) std::printf("%d ranks: wildcards match in order\n", ranks);
  MPI_Finalize();
  return 0;
}
