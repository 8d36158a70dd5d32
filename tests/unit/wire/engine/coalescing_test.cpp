// SPDX-License-Identifier: Apache-2.0
// Packets that leave together: acknowledgements with the program's answer, held messages with each
// other. Counted in calls on the channel.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"

namespace impishim::wire {
namespace {

using test::JobShape;
using test::pattern;
using test::Receive;
using test::Send;
using test::SimulatedJob;

constexpr std::uint32_t kAckmark = 10;
constexpr std::uint32_t kHiwater = 20;

class Coalescing : public testing::Test {
 protected:
  static JobShape shape() {
    JobShape shape;
    shape.values.datalen = 1000;
    shape.values.ackmark = kAckmark;
    shape.values.hiwater = kHiwater;
    shape.foreign = {0, 1};  // whose packets count alike
    shape.relay.origin_batch_target = 0;
    return shape;
  }
  std::uint64_t send_calls(int rank) { return job.engine(rank).counters().send_calls; }
  SimulatedJob job{shape()};
};

TEST_F(Coalescing, AnAcknowledgementLeavesWithTheAnswer) {
  constexpr int kRounds = 10 * static_cast<int>(kAckmark);
  for (int i = 0; i < kRounds; ++i) {
    for (const int from : {0, 1}) {
      Receive receive(job, 1 - from, from, i, 8);
      const Send send(job, from, 1 - from, i, pattern(8, static_cast<unsigned>(i)));
      ASSERT_TRUE(job.run_until([&] { return receive.complete(); }));
      ASSERT_EQ(receive.bytes(), send.data);
    }
  }
  EXPECT_EQ(send_calls(0), static_cast<std::uint64_t>(kRounds));
  EXPECT_EQ(send_calls(1), static_cast<std::uint64_t>(kRounds));
  EXPECT_GT(job.engine(0).counters().packets_sent, static_cast<std::uint64_t>(kRounds));
}

TEST_F(Coalescing, ASleeperSendsAnAcknowledgementThatWaitedAlone) {
  std::vector<std::unique_ptr<Receive>> receives;
  std::vector<std::unique_ptr<Send>> sends;
  for (int i = 0; i < static_cast<int>(kAckmark); ++i) {
    receives.push_back(std::make_unique<Receive>(job, 1, 0, i, 8));
    sends.push_back(std::make_unique<Send>(job, 0, 1, i, pattern(8, static_cast<unsigned>(i))));
  }
  while (!receives.back()->complete()) ASSERT_GT(job.engine(1).poll(false), 0U);
  EXPECT_EQ(send_calls(1), 0U);
  // Nothing else will ever wake it.
  job.engine(1).wait_for_event(Engine::kForever);
  EXPECT_GT(job.engine(1).poll(false), 0U);
  EXPECT_EQ(send_calls(1), 1U);
}

TEST_F(Coalescing, ASecondAcknowledgementTakesTheFirstAlong) {
  std::vector<std::unique_ptr<Receive>> receives;
  std::vector<std::unique_ptr<Send>> sends;
  for (int i = 0; i < 2 * static_cast<int>(kAckmark); ++i) {
    receives.push_back(std::make_unique<Receive>(job, 1, 0, i, 8));
    sends.push_back(std::make_unique<Send>(job, 0, 1, i, pattern(8, static_cast<unsigned>(i))));
  }
  while (!receives.back()->complete()) ASSERT_GT(job.engine(1).poll(false), 0U);
  EXPECT_EQ(send_calls(1), 1U);
}

TEST_F(Coalescing, MessagesHeldByFlowControlLeaveTogether) {
  constexpr int kGroups = 5;
  constexpr int kMessages = static_cast<int>(kHiwater) + kGroups * static_cast<int>(kAckmark);
  std::vector<std::unique_ptr<Receive>> receives;
  std::vector<std::unique_ptr<Send>> sends;
  for (int i = 0; i < kMessages; ++i) {
    receives.push_back(std::make_unique<Receive>(job, 1, 0, i, 100));
    sends.push_back(std::make_unique<Send>(job, 0, 1, i, pattern(100, static_cast<unsigned>(i))));
  }
  EXPECT_EQ(send_calls(0), kHiwater);
  ASSERT_TRUE(job.run_until([&] { return receives.back()->complete(); }));
  for (int i = 0; i < kMessages; ++i)
    EXPECT_EQ(receives[static_cast<std::size_t>(i)]->bytes(),
              sends[static_cast<std::size_t>(i)]->data);
  EXPECT_LE(send_calls(0), kHiwater + kGroups);
}

}  // namespace
}  // namespace impishim::wire
