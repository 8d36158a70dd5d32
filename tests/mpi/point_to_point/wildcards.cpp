// SPDX-License-Identifier: Apache-2.0
// MPI_ANY_SOURCE and MPI_ANY_TAG, probes of both kinds, cancel, MPI_PROC_NULL, Sendrecv and
// messages to oneself.
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/content.hpp"

namespace {

using impishim_test::content;
using impishim_test::holds;
using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;

int count_of(const MPI_Status& status) {
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  return count;
}

/// Rank 0 receives from all others whatever comes, by each way of receiving; each sender's messages
/// must come in its order.
void any_source(int way) {
  constexpr int kMessages = 60;
  const int senders = size_of(kWorld) - 1;
  if (rank_in(kWorld) != 0) {
    for (int i = 0; i < kMessages; ++i) {
      // Every tenth message is long: the order holds among short and long ones.
      const int size = i % 10 == 9 ? 100000 : i * 3;
      const auto bytes = content(static_cast<std::size_t>(size),
                                 static_cast<std::uint64_t>(rank_in(kWorld) * 100 + i));
      MPI_Send(bytes.data(), size, MPI_BYTE, 0, i, kWorld);
    }
    MPI_Barrier(kWorld);
    return;
  }
  std::vector<int> next(static_cast<std::size_t>(senders + 1), 0);
  std::vector<unsigned char> in(200000);
  for (int i = 0; i < senders * kMessages; ++i) {
    MPI_Status status;
    if (way == 0) {
      MPI_Recv(in.data(), static_cast<int>(in.size()), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
               kWorld, &status);
    } else if (way == 1) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                kWorld, &request);
      int done = 0;
      while (done == 0) MPI_Test(&request, &done, &status);
    } else if (way == 2) {
      MPI_Status probed;
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, kWorld, &probed);
      MPI_Recv(in.data(), count_of(probed), MPI_BYTE, probed.MPI_SOURCE, probed.MPI_TAG, kWorld,
               &status);
      REQUIRE_EQUAL(count_of(status), count_of(probed));
    } else {
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Status probed;
      int found = 0;
      if (way == 3) {
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, kWorld, &message, &probed);
      } else {
        while (found == 0)
          MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, kWorld, &found, &message, &probed);
      }
      if (i % 2 == 0) {
        MPI_Mrecv(in.data(), count_of(probed), MPI_BYTE, &message, &status);
      } else {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Imrecv(in.data(), count_of(probed), MPI_BYTE, &message, &request);
        MPI_Wait(&request, &status);
      }
      REQUIRE(message == MPI_MESSAGE_NULL);
      REQUIRE_EQUAL(status.MPI_SOURCE, probed.MPI_SOURCE);
    }
    const int from = status.MPI_SOURCE;
    REQUIRE(from >= 1 && from <= senders);
    REQUIRE_EQUAL(status.MPI_TAG, next[static_cast<std::size_t>(from)]);
    const auto size = static_cast<std::size_t>(count_of(status));
    REQUIRE_EQUAL(size, status.MPI_TAG % 10 == 9 ? 100000 : status.MPI_TAG * 3);
    REQUIRE(holds(in.data(), size, static_cast<std::uint64_t>(from * 100 + status.MPI_TAG)));
    ++next[static_cast<std::size_t>(from)];
  }
  int more = 1;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, kWorld, &more, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(more, 0);
  MPI_Barrier(kWorld);
}

/// Many receives outstanding at once, all wildcards: each sender's messages fill them in the order
/// in which they were posted.
void posted_wildcards() {
  constexpr int kEach = 20;
  const int senders = size_of(kWorld) - 1;
  if (rank_in(kWorld) == 0) {
    const auto total = static_cast<std::size_t>(senders * kEach);
    std::vector<int> values(total, -1);
    std::vector<MPI_Request> requests(total);
    std::vector<MPI_Status> statuses(total);
    for (std::size_t i = 0; i < total; ++i)
      MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 5, kWorld, &requests[i]);
    MPI_Barrier(kWorld);
    MPI_Waitall(static_cast<int>(total), requests.data(), statuses.data());
    std::vector<int> next(static_cast<std::size_t>(senders + 1), 0);
    for (std::size_t i = 0; i < total; ++i) {
      REQUIRE_EQUAL(values[i], next[static_cast<std::size_t>(statuses[i].MPI_SOURCE)]++);
    }
  } else {
    MPI_Barrier(kWorld);
    for (int i = 0; i < kEach; ++i) MPI_Send(&i, 1, MPI_INT, 0, 5, kWorld);
  }
  MPI_Barrier(kWorld);
}

/// A specific receive posted before a wildcard takes the message first, and the other way round.
void mixed_receives() {
  const int last = size_of(kWorld) - 1;
  if (rank_in(kWorld) == 0) {
    int first = -1;
    int second = -1;
    int third = -1;
    MPI_Request requests[3];
    MPI_Irecv(&first, 1, MPI_INT, MPI_ANY_SOURCE, 1, kWorld, &requests[0]);
    MPI_Irecv(&second, 1, MPI_INT, last, 1, kWorld, &requests[1]);
    MPI_Irecv(&third, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, kWorld, &requests[2]);
    MPI_Barrier(kWorld);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    REQUIRE_EQUAL(first, 0);
    REQUIRE_EQUAL(second, 1);
    REQUIRE_EQUAL(third, 2);
  } else {
    MPI_Barrier(kWorld);
    if (rank_in(kWorld) == last) {
      for (int i = 0; i < 3; ++i) MPI_Send(&i, 1, MPI_INT, 0, 1, kWorld);
    }
  }
  MPI_Barrier(kWorld);
}

/// Receives that nothing will match can be cancelled; so can a send that nobody will receive; a
/// matched one cannot.
void cancels() {
  int value = 0;
  for (const int source : std::vector<int>{MPI_ANY_SOURCE, 0, size_of(kWorld) - 1}) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int cancelled = 0;
    MPI_Irecv(&value, 1, MPI_INT, source, 4711, kWorld, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    REQUIRE_EQUAL(cancelled, 1);
  }
  const int peer = size_of(kWorld) - 1 - rank_in(kWorld);
  MPI_Barrier(kWorld);
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Status status;
  int cancelled = 1;
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 8, kWorld, &receive);
  const int mine = rank_in(kWorld);
  MPI_Isend(&mine, 1, MPI_INT, peer, 8, kWorld, &send);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Barrier(kWorld);
  MPI_Wait(&receive, &status);
  MPI_Test_cancelled(&status, &cancelled);
  REQUIRE_EQUAL(cancelled, 0);
  REQUIRE_EQUAL(value, peer);
  MPI_Barrier(kWorld);
}

void null_and_self() {
  const int rank = rank_in(kWorld);
  int value = -5;
  MPI_Status status;
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, kWorld);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, kWorld, &status);
  REQUIRE_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
  REQUIRE_EQUAL(status.MPI_TAG, MPI_ANY_TAG);
  REQUIRE_EQUAL(count_of(status), 0);
  REQUIRE_EQUAL(value, -5);
  MPI_Probe(MPI_PROC_NULL, 1, kWorld, &status);
  REQUIRE_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Mprobe(MPI_PROC_NULL, 1, kWorld, &message, &status);
  REQUIRE(message == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
  REQUIRE_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);

  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(&rank, 1, MPI_INT, rank, 2, kWorld, &request);
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, kWorld, &status);
  REQUIRE_EQUAL(status.MPI_SOURCE, rank);
  REQUIRE_EQUAL(value, rank);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  // What follows uses the same tag, and must not reach a wildcard here.
  MPI_Barrier(kWorld);
}

void send_receives() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  const int above = (rank + 1) % size;
  const int below = (rank + size - 1) % size;
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{65536}, std::size_t{300000}}) {
    const auto out = content(bytes, static_cast<std::uint64_t>(rank));
    std::vector<unsigned char> in(bytes);
    MPI_Status status;
    MPI_Sendrecv(out.data(), static_cast<int>(bytes), MPI_BYTE, above, 1, in.data(),
                 static_cast<int>(bytes), MPI_BYTE, below, 1, kWorld, &status);
    REQUIRE(holds(in.data(), bytes, static_cast<std::uint64_t>(below)));
    REQUIRE_EQUAL(status.MPI_SOURCE, below);
    auto both = out;
    MPI_Sendrecv_replace(both.data(), static_cast<int>(bytes), MPI_BYTE, above, 2, MPI_ANY_SOURCE,
                         2, kWorld, &status);
    REQUIRE(holds(both.data(), bytes, static_cast<std::uint64_t>(below)));
    REQUIRE_EQUAL(status.MPI_SOURCE, below);
    // Half of a chain: one side is MPI_PROC_NULL.
    const int next = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    const int previous = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    MPI_Sendrecv(out.data(), static_cast<int>(bytes), MPI_BYTE, next, 3, in.data(),
                 static_cast<int>(bytes), MPI_BYTE, previous, 3, kWorld, &status);
    REQUIRE_EQUAL(status.MPI_SOURCE, previous);
    MPI_Barrier(kWorld);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int way = 0; way < 5; ++way) {
    any_source(way);
    std::printf("rank %d: way %d\n", rank_in(kWorld), way);
  }
  posted_wildcards();
  mixed_receives();
  cancels();
  null_and_self();
  send_receives();
  std::printf("rank %d: done\n", rank_in(kWorld));
  MPI_Finalize();
  return 0;
}
