// SPDX-License-Identifier: Apache-2.0
// A rank that stands in a blocking call inside its system has receives outstanding that ranks of
// another system send to, and the call waits for those senders. Ranks 0 and 1, and ranks 2 and 3,
// are in one system each.
#include <unistd.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/support/check.hpp"

namespace {

constexpr int kGo = 1;
constexpr int kToken = 2;
constexpr int kAny = 5;
constexpr int kNamed = 6;
constexpr int kUnasked = 9;
constexpr int kLong = 1 << 18;       ///< ints
constexpr int kFull = 65536 / 4;     ///< ints of a message that fills a packet
constexpr int kMessages = 40;        ///< more than may be on their way unasked for
constexpr int kIntoTheCall = 30000;  ///< microseconds until rank 0 stands in its call

enum class Call { kAllreduce, kBcast, kSplit };

/// Waits for rank 1, in which it is called when what rank 0 is to receive has been sent.
void stand(Call call, MPI_Comm pair) {
  int value = 1;
  int sum = 0;
  MPI_Comm made = MPI_COMM_NULL;
  switch (call) {
    case Call::kAllreduce:
      MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, pair);
      REQUIRE_EQUAL(sum, 2);
      break;
    case Call::kBcast:
      MPI_Bcast(&value, 1, MPI_INT, 1, pair);
      break;
    case Call::kSplit:
      MPI_Comm_split(pair, 0, 0, &made);
      MPI_Comm_free(&made);
      break;
  }
}

std::vector<int> content(int sender, int size) {
  std::vector<int> data(static_cast<std::size_t>(size));
  std::iota(data.begin(), data.end(), sender * 1000003);
  return data;
}

void await_go() {
  MPI_Recv(nullptr, 0, MPI_INT, 0, kGo, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  usleep(kIntoTheCall);
}
void give(int rank, int tag) { MPI_Send(nullptr, 0, MPI_INT, rank, tag, MPI_COMM_WORLD); }
void await_token(int rank) {
  MPI_Recv(nullptr, 0, MPI_INT, rank, kToken, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Long messages of ranks 2 to `last`, of standard mode, from anybody.
void long_messages(int rank, MPI_Comm pair, Call call, int last) {
  if (rank == 0) {
    const int senders = last - 1;
    std::vector<std::vector<int>> in(static_cast<std::size_t>(senders), std::vector<int>(kLong));
    std::vector<MPI_Request> requests(in.size());
    for (std::size_t i = 0; i < in.size(); ++i)
      MPI_Irecv(in[i].data(), kLong, MPI_INT, MPI_ANY_SOURCE, kAny, MPI_COMM_WORLD, &requests[i]);
    for (int sender = 2; sender <= last; ++sender) give(sender, kGo);
    stand(call, pair);
    int sources = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      MPI_Status status;
      MPI_Wait(&requests[i], &status);
      REQUIRE(in[i] == content(status.MPI_SOURCE, kLong));
      sources += status.MPI_SOURCE;
    }
    REQUIRE_EQUAL(sources, last == 2 ? 2 : 5);
  } else if (rank == 1) {
    for (int sender = 2; sender <= last; ++sender) await_token(sender);
    stand(call, pair);
  } else if (rank <= last) {
    await_go();
    const auto data = content(rank, kLong);
    MPI_Send(data.data(), kLong, MPI_INT, 0, kAny, MPI_COMM_WORLD);
    give(1, kToken);
  }
}

/// A synchronous message from inside the system: the receive has to stay where the vendor finds it.
void synchronous_inside(int rank, MPI_Comm pair) {
  if (rank == 0) {
    int value = 0;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, kAny, MPI_COMM_WORLD, &request);
    stand(Call::kAllreduce, pair);
    MPI_Status status;
    MPI_Wait(&request, &status);
    REQUIRE_EQUAL(status.MPI_SOURCE, 1);
    REQUIRE_EQUAL(value, 77);
  } else if (rank == 1) {
    const int value = 77;
    MPI_Ssend(&value, 1, MPI_INT, 0, kAny, MPI_COMM_WORLD);
    stand(Call::kAllreduce, pair);
  }
}

/// Behind a message that a receive from anybody waits for, a synchronous one for a receive that
/// names its source.
void named_behind_any(int rank, MPI_Comm pair) {
  if (rank == 0) {
    int in[2] = {0, 0};
    MPI_Request requests[2];
    MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, kAny, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, 3, kNamed, MPI_COMM_WORLD, &requests[1]);
    give(2, kGo);
    stand(Call::kAllreduce, pair);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    REQUIRE_EQUAL(in[0], 2);
    REQUIRE_EQUAL(in[1], 3);
  } else if (rank == 1) {
    await_token(3);
    stand(Call::kAllreduce, pair);
  } else if (rank == 2) {
    await_go();
    MPI_Send(&rank, 1, MPI_INT, 0, kAny, MPI_COMM_WORLD);
    give(3, kToken);
  } else {
    await_token(2);
    usleep(kIntoTheCall);
    MPI_Ssend(&rank, 1, MPI_INT, 0, kNamed, MPI_COMM_WORLD);
    give(1, kToken);
  }
}

/// The awaited message is queued behind many unexpected ones.
void behind_unasked_messages(int rank, MPI_Comm pair) {
  if (rank == 0) {
    int value = 0;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, kAny, MPI_COMM_WORLD, &request);
    give(2, kGo);
    stand(Call::kAllreduce, pair);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(value, 2);
    std::vector<int> in(kFull);
    for (int i = 0; i < kMessages; ++i) {
      MPI_Recv(in.data(), kFull, MPI_INT, 2, kUnasked, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      REQUIRE(in == content(i, kFull));
    }
  } else if (rank == 1) {
    await_token(2);
    stand(Call::kAllreduce, pair);
  } else if (rank == 2) {
    await_go();
    std::vector<std::vector<int>> out;
    std::vector<MPI_Request> requests(kMessages);
    for (int i = 0; i < kMessages; ++i) out.push_back(content(i, kFull));
    for (std::size_t i = 0; i < requests.size(); ++i)
      MPI_Isend(out[i].data(), kFull, MPI_INT, 0, kUnasked, MPI_COMM_WORLD, &requests[i]);
    MPI_Send(&rank, 1, MPI_INT, 0, kAny, MPI_COMM_WORLD);
    give(1, kToken);
    MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
  }
}

/// Messages that come while rank 0 goes into its call and out of it, about when those that send to
/// it begin to be helped. Each of ranks 1 to 3 sends a long one and a short one.
void races(int rank, MPI_Comm pair, int round) {
  constexpr int kReceives = 6;
  constexpr int kShort = 16;
  constexpr int kAboutHelp = 100000;  // microseconds
  std::mt19937 random(static_cast<unsigned>(round * 4 + rank));
  const auto jitter = [&] { usleep(kAboutHelp + static_cast<useconds_t>(random() % 30000)); };
  if (rank == 0) {
    std::vector<std::vector<int>> in(kReceives, std::vector<int>(kLong));
    std::vector<MPI_Request> requests(kReceives);
    std::vector<MPI_Status> statuses(kReceives);
    for (std::size_t i = 0; i < in.size(); ++i)
      MPI_Irecv(in[i].data(), kLong, MPI_INT, MPI_ANY_SOURCE, kAny, MPI_COMM_WORLD, &requests[i]);
    stand(Call::kAllreduce, pair);
    MPI_Waitall(kReceives, requests.data(), statuses.data());
    std::vector<int> of_sender(4, 0);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const int sender = statuses[i].MPI_SOURCE;
      const bool first = of_sender[static_cast<std::size_t>(sender)]++ == 0;
      int count = 0;
      MPI_Get_count(&statuses[i], MPI_INT, &count);
      REQUIRE_EQUAL(count, first ? kLong : kShort);
      in[i].resize(static_cast<std::size_t>(count));
      REQUIRE(in[i] == content(sender + round, count));
    }
    REQUIRE((of_sender == std::vector<int>{0, 2, 2, 2}));
    return;
  }
  const auto data = content(rank + round, kLong);
  MPI_Request requests[2];
  if (rank > 1) jitter();
  MPI_Isend(data.data(), kLong, MPI_INT, 0, kAny, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(data.data(), kShort, MPI_INT, 0, kAny, MPI_COMM_WORLD, &requests[1]);
  if (rank == 1) {
    jitter();
    stand(Call::kAllreduce, pair);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

}  // namespace

/// With an argument, that case alone.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  MPI_Comm pair = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
  const std::string only = argc > 1 ? argv[1] : "";
  const auto run = [&](const char* name, const auto& body) {
    if (!only.empty() && only != name) return;
    body();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::printf("%s: over\n", name);
  };
  run("long_in_allreduce", [&] { long_messages(rank, pair, Call::kAllreduce, 2); });
  run("long_in_bcast", [&] { long_messages(rank, pair, Call::kBcast, 2); });
  run("long_in_split", [&] { long_messages(rank, pair, Call::kSplit, 2); });
  run("two_long", [&] { long_messages(rank, pair, Call::kAllreduce, 3); });
  run("synchronous_inside", [&] { synchronous_inside(rank, pair); });
  run("named_behind_any", [&] { named_behind_any(rank, pair); });
  run("behind_unasked", [&] { behind_unasked_messages(rank, pair); });
  run("races", [&] {
    for (int round = 0; round < 8; ++round) {
      races(rank, pair, round);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  });
  MPI_Comm_free(&pair);
  MPI_Finalize();
  return 0;
}
