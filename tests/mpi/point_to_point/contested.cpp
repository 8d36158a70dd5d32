// SPDX-License-Identifier: Apache-2.0
// Receives from MPI_ANY_SOURCE that messages of both kinds want at the same time, some withdrawn by
// the user meanwhile: every message is received exactly once, in its sender's order, and a receive
// is either cancelled or has a message.
#include <random>
#include <vector>

#include "tests/support/check.hpp"

namespace {

constexpr int kTag = 3;

/// Counts the messages of each sender and checks their order.
class Ledger {
 public:
  explicit Ledger(int ranks) : next_(static_cast<std::size_t>(ranks), 0) {}
  void enter(const int (&message)[2], const MPI_Status& status) {
    REQUIRE_EQUAL(status.MPI_SOURCE, message[0]);
    REQUIRE_EQUAL(message[1], next_[static_cast<std::size_t>(message[0])]++);
    ++total_;
  }
  [[nodiscard]] int total() const { return total_; }

 private:
  std::vector<int> next_;
  int total_ = 0;
};

void send_all(int rank, int messages, unsigned seed) {
  std::mt19937 random(seed + static_cast<unsigned>(rank));
  for (int i = 0; i < messages; ++i) {
    const int message[2] = {rank, i};
    MPI_Send(message, 2, MPI_INT, 0, kTag, MPI_COMM_WORLD);
    // Now and then give way, so that receives are found posted as often as not.
    if (random() % 8 == 0) {
      int flag = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, kTag + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
  }
}

void receive_all(int ranks, int messages, unsigned seed) {
  std::mt19937 random(seed);
  Ledger ledger(ranks);
  const int wanted = messages * (ranks - 1);
  int cancelled_receives = 0;
  while (ledger.total() < wanted) {
    // A window of receives, completed in the order of posting; some are cancelled at a random
    // moment.
    const int window = 1 + static_cast<int>(random() % 4);
    int in[4][2];
    MPI_Request requests[4];
    for (int i = 0; i < window; ++i)
      MPI_Irecv(in[i], 2, MPI_INT, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &requests[i]);
    for (unsigned spin = random() % 3; spin > 0; --spin) {
      int flag = 0;
      MPI_Iprobe(0, kTag + 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    // The last ones may never get a message, so every window ends by cancelling; of the first, some
    // wait.
    const bool cancel_all = random() % 2 == 0 || ledger.total() + window > wanted;
    for (int i = 0; i < window; ++i) {
      if (cancel_all || i > 0) MPI_Cancel(&requests[i]);
    }
    for (int i = 0; i < window; ++i) {
      MPI_Status status;
      MPI_Wait(&requests[i], &status);
      int cancelled = 0;
      MPI_Test_cancelled(&status, &cancelled);
      if (cancelled != 0) {
        ++cancelled_receives;
      } else {
        ledger.enter(in[i], status);
      }
    }
    if (ledger.total() == wanted) break;
    // And one that waits for its message.
    int message[2];
    MPI_Status status;
    MPI_Recv(message, 2, MPI_INT, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &status);
    ledger.enter(message, status);
  }
  REQUIRE(cancelled_receives >= 0);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int ranks = impishim_test::size_of(MPI_COMM_WORLD);
  for (unsigned seed = 1; seed <= 4; ++seed) {
    if (rank == 0) {
      receive_all(ranks, 1500, seed);
    } else {
      send_all(rank, 1500, seed);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // Nothing is left over.
  int flag = 1;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(flag, 0);
  if (rank == 0)
    std::printf("%d ranks: contested receives neither lose nor double a message\n", ranks);
  MPI_Finalize();
  return 0;
}
