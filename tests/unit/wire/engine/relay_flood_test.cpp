// SPDX-License-Identifier: Apache-2.0
// A flood through relays whose next processes have stopped: what they hold stays within its bound,
// the senders wait, and nothing is lost when all go on.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"
#include "wire/link/relay_credit.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {
namespace {

using test::JobShape;
using test::pattern;
using test::Receive;
using test::Send;
using test::SimulatedJob;

constexpr std::uint32_t kDatalen = 4096;
constexpr std::uint64_t kPacket = kDatalen + kPacketHeaderSize;
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40U;
constexpr int kMessages = 30;
constexpr int kHalf = 6;

/// Two systems of two hosts with three processes each.
class RelayFlood : public testing::TestWithParam<std::uint32_t> {
 protected:
  static JobShape shape(std::uint64_t local_limit, std::uint64_t remote_limit) {
    JobShape shape;
    shape.procs_of_hosts = {{3, 3}, {3, 3}};
    shape.seed = GetParam();
    shape.values.datalen = kDatalen;
    shape.values.lanes = GetParam() % 2 == 0 ? 1 : 2;
    shape.values.ackmark = 200;
    shape.values.hiwater = 400;  // far more than the relays may hold
    shape.relay.local_sender_limit = local_limit;
    shape.relay.remote_sender_limit = remote_limit;
    return shape;
  }

  /// Everybody of the first system to everybody of the second: short messages, and one that takes
  /// several packets.
  void flood(SimulatedJob& job) {
    for (int from = 0; from < kHalf; ++from) {
      for (int to = kHalf; to < 2 * kHalf; ++to) {
        for (int k = 0; k < kMessages; ++k) {
          const std::size_t size =
              k == kMessages / 2 ? 3 * kDatalen + 7 : kDatalen - static_cast<std::size_t>(k);
          sends.push_back(std::make_unique<Send>(
              job, from, to, k, pattern(size, static_cast<std::uint32_t>(from * 1000 + k))));
        }
      }
    }
  }

  /// The README's formula: what a process holds for others at most.
  static std::uint64_t bound(const SimulatedJob& job, int rank, std::uint64_t local_limit,
                             std::uint64_t remote_limit) {
    return local_partners(job.job(), rank).size() * (local_limit + kPacket) +
           hosts_represented_by(job.job(), rank).size() * (remote_limit + kPacket);
  }

  void receive_all(SimulatedJob& job) {
    std::vector<std::unique_ptr<Receive>> receives;
    for (const auto& send : sends) {
      receives.push_back(std::make_unique<Receive>(job, send->operation.destination,
                                                   send->operation.source_rank, send->operation.tag,
                                                   4 * kDatalen));
    }
    for (std::size_t i = 0; i < sends.size(); ++i) {
      ASSERT_TRUE(job.run_until([&] {
        return receives[i]->complete() && sends[i]->operation.complete();
      })) << i;
      ASSERT_TRUE(receives[i]->bytes() == sends[i]->data);
    }
    EXPECT_TRUE(job.close_all());
    for (int rank = 0; rank < job.size(); ++rank) {
      EXPECT_EQ(job.engine(rank).failure(), nullptr) << rank;
      EXPECT_EQ(job.engine(rank).counters().relay_bytes, 0U) << rank;
    }
  }

  static std::uint64_t most_held(SimulatedJob& job) {
    std::uint64_t most = 0;
    for (int rank = 0; rank < job.size(); ++rank)
      most = std::max(most, job.engine(rank).counters().relay_bytes_peak);
    return most;
  }

  std::vector<std::unique_ptr<Send>> sends;
};

INSTANTIATE_TEST_SUITE_P(Seeds, RelayFlood, testing::Values(0, 1, 2));

TEST_P(RelayFlood, ASystemThatHasStoppedFillsNobodysMemory) {
  constexpr std::uint64_t kLocal = RelayDebt::kLeastLimit;
  constexpr std::uint64_t kRemote = 2 * RelayDebt::kLeastLimit;
  SimulatedJob job(shape(kLocal, kRemote));
  job.stop({6, 7, 8, 9, 10, 11});
  flood(job);
  job.settle();
  std::uint64_t stalls = 0;
  for (int rank = 0; rank < kHalf; ++rank) {
    EXPECT_LE(job.engine(rank).counters().relay_bytes_peak, bound(job, rank, kLocal, kRemote))
        << rank;
    stalls += job.engine(rank).counters().relay_stalls;
  }
  EXPECT_GT(stalls, 0U);
  job.stop({});
  receive_all(job);
  for (int rank = 0; rank < job.size(); ++rank) {
    EXPECT_LE(job.engine(rank).counters().relay_bytes_peak, bound(job, rank, kLocal, kRemote))
        << rank;
  }
}

/// The last hop is blocked: the packets of all others are in the memory of one process's
/// neighbours.
TEST_P(RelayFlood, AProcessThatHasStoppedFillsNobodysMemory) {
  constexpr std::uint64_t kLocal = 2 * RelayDebt::kLeastLimit;
  constexpr std::uint64_t kRemote = RelayDebt::kLeastLimit;
  SimulatedJob job(shape(kLocal, kRemote));
  job.stop({8});
  flood(job);
  job.settle();
  job.stop({});
  receive_all(job);
  for (int rank = 0; rank < job.size(); ++rank) {
    EXPECT_LE(job.engine(rank).counters().relay_bytes_peak, bound(job, rank, kLocal, kRemote))
        << rank;
  }
}

/// That the limits are what bounds it.
TEST_P(RelayFlood, WithoutLimitsMemoryGrows) {
  SimulatedJob job(shape(kNoLimit, kNoLimit));
  job.stop({6, 7, 8, 9, 10, 11});
  flood(job);
  job.settle();
  EXPECT_GT(most_held(job), bound(job, 0, RelayDebt::kLeastLimit, 2 * RelayDebt::kLeastLimit));
  job.stop({});
  receive_all(job);
}

/// Other implementations know nothing of credit: nothing is asked of them, and nothing sent.
TEST_P(RelayFlood, ForeignHostsAreNotAsked) {
  JobShape foreign = shape(RelayDebt::kLeastLimit, RelayDebt::kLeastLimit);
  foreign.foreign = {0, 1};
  SimulatedJob job(foreign);
  job.stop({6, 7, 8, 9, 10, 11});
  flood(job);
  job.settle();
  job.stop({});
  receive_all(job);
}

TEST(RelayCredit, StopsAtItsLimit) {
  RelayCredit credit(100);
  EXPECT_TRUE(credit.may_send());
  credit.sent(99);
  EXPECT_TRUE(credit.may_send());
  credit.sent(50);
  EXPECT_FALSE(credit.may_send());
  EXPECT_FALSE(credit.returned(150)) << "more than was sent";
  EXPECT_FALSE(credit.returned(0));
  EXPECT_TRUE(credit.returned(49));
  EXPECT_FALSE(credit.may_send());
  EXPECT_TRUE(credit.returned(100));
  EXPECT_EQ(credit.outstanding(), 0U);
  EXPECT_TRUE(credit.may_send());
}

TEST(RelayCredit, WithoutALimitAsksNobody) {
  RelayCredit credit;
  credit.sent(std::uint64_t{1} << 50U);
  EXPECT_TRUE(credit.may_send());
  EXPECT_FALSE(credit.returned(1));
}

TEST(RelayDebt, ReturnsInShares) {
  RelayDebt debt;
  debt.left(RelayDebt::kShare - 1);
  EXPECT_FALSE(debt.due());
  debt.left(10);
  EXPECT_TRUE(debt.due());
  EXPECT_EQ(debt.take(), RelayDebt::kShare + 9);
  EXPECT_FALSE(debt.due());
}

}  // namespace
}  // namespace impishim::wire
