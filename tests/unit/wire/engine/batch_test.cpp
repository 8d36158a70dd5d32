// SPDX-License-Identifier: Apache-2.0
// Short messages that a program begins in quick succession: the first few leave at once, the rest
// in batches, in order, and none is forgotten. Counted in calls on the channel.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"
#include "tests/unit/wire/engine/threaded_job.hpp"

namespace impishim::wire {
namespace {

using test::JobShape;
using test::make_job;
using test::pattern;
using test::Receive;
using test::Send;
using test::SimulatedJob;
using test::ThreadedJob;

constexpr std::uint64_t kAtOnce = 4;
constexpr std::size_t kPacket = 128 + 8;  // header and payload

class Batch : public testing::TestWithParam<bool> {
 protected:
  /// Two systems of one proc; with the parameter of two, rank 1 behind rank 0 and rank 3 behind
  /// rank 2.
  static JobShape shape() {
    JobShape shape;
    if (GetParam()) shape.procs_of_hosts = {{2}, {2}};
    shape.relay.origin_batch_target = 10 * kPacket;
    return shape;
  }
  int from = GetParam() ? 1 : 0;
  int to = GetParam() ? 3 : 1;

  [[nodiscard]] std::size_t left() { return packets_left(job.engine(from)); }
  static std::size_t packets_left(Engine& engine) {
    const EngineCounters counters = engine.counters();
    return counters.local_origin.packets + counters.remote_origin.packets;
  }
  void send(std::size_t size = 8, SendMode mode = SendMode::kStandard) {
    const auto tag = static_cast<std::int32_t>(sends.size());
    sends.push_back(std::make_unique<Send>(job, from, to, tag,
                                           pattern(size, static_cast<unsigned>(tag)), mode));
  }
  /// Wildcards take messages in the order of their arrival.
  void expect_all_in_order() {
    for (std::size_t i = 0; i < sends.size(); ++i) {
      Receive receive(job, to, kAnySource, kAnyTag, 100000);
      ASSERT_TRUE(job.run_until([&] { return receive.complete(); }));
      EXPECT_EQ(receive.operation.result.tag, static_cast<std::int32_t>(i));
      EXPECT_EQ(receive.bytes(), sends[i]->data);
    }
  }

  SimulatedJob job{shape()};
  std::vector<std::unique_ptr<Send>> sends;
};

TEST_P(Batch, TheFirstFewLeaveAtOnceAndTheRestAtTheNextPoll) {
  const std::uint64_t before = job.engine(from).counters().send_calls;
  for (int i = 0; i < 10; ++i) send();
  for (const auto& each : sends) EXPECT_TRUE(each->operation.complete());
  EXPECT_FALSE(job.engine(from).idle());
  EXPECT_EQ(job.engine(from).counters().send_calls - before, GetParam() ? 0 : kAtOnce);
  static_cast<void>(job.engine(from).poll(false));
  EXPECT_TRUE(job.engine(from).idle());
  EXPECT_EQ(job.engine(from).counters().send_calls - before, GetParam() ? 0 : kAtOnce + 1);
  expect_all_in_order();
}

TEST_P(Batch, ACallThatWaitsSendsThemWithoutPolling) {
  for (int i = 0; i < 10; ++i) send();
  EXPECT_FALSE(job.engine(from).idle());
  job.engine(from).send_batches();
  EXPECT_TRUE(job.engine(from).idle());
  expect_all_in_order();
}

TEST_P(Batch, APollMakesTheNextOnesLeaveAtOnceAgain) {
  for (int i = 0; i < 20; ++i) {
    send();
    EXPECT_TRUE(job.engine(from).idle());
    static_cast<void>(job.engine(from).poll(false));
  }
  expect_all_in_order();
}

TEST_P(Batch, AfterALongBurstOnlyTheFirstOfTheNextLeavesAlone) {
  const auto waits_after = [&](int messages) {
    for (int i = 0; i < messages; ++i) send();
    const bool waits = !job.engine(from).idle();
    static_cast<void>(job.engine(from).poll(false));
    return waits;
  };
  EXPECT_FALSE(waits_after(kAtOnce));
  EXPECT_TRUE(waits_after(kAtOnce + 1));
  static_cast<void>(
      job.engine(from).poll(false));  // a poll without a burst before it tells nothing
  EXPECT_TRUE(waits_after(2));
  EXPECT_FALSE(waits_after(kAtOnce));
  EXPECT_TRUE(waits_after(kAtOnce + 1));
  EXPECT_FALSE(waits_after(1));
  EXPECT_FALSE(waits_after(kAtOnce));
  expect_all_in_order();
}

TEST_P(Batch, ABatchLeavesWhenItIsLargeEnough) {
  for (std::uint64_t i = 0; i < kAtOnce + 9; ++i) send();
  EXPECT_FALSE(job.engine(from).idle());
  send();
  EXPECT_TRUE(job.engine(from).idle());
  expect_all_in_order();
}

TEST_P(Batch, ALongMessageTakesTheBatchAlongAndStaysBehindIt) {
  for (int i = 0; i < 8; ++i) send();
  send(20000);
  for (int i = 0; i < 8; ++i) send();
  send(90000);  // more than a packet
  for (int i = 0; i < 8; ++i) send();
  expect_all_in_order();
}

TEST_P(Batch, SynchronousMessagesAreBatchedAndCompleteWhenTheyMatch) {
  for (int i = 0; i < 10; ++i) send(8, SendMode::kSynchronous);
  job.settle();
  for (const auto& each : sends) EXPECT_FALSE(each->operation.complete());
  expect_all_in_order();
  EXPECT_TRUE(job.run_until([&] { return sends.back()->operation.complete(); }));
}

TEST_P(Batch, ABatchedMessageCanBeCancelled) {
  for (int i = 0; i < 10; ++i) send();
  SendOperation& last = sends.back()->operation;
  job.engine(from).cancel(last);
  ASSERT_TRUE(job.run_until([&] { return last.complete(); }));
  EXPECT_TRUE(last.result.cancelled);
  sends.pop_back();
  expect_all_in_order();
}

TEST_P(Batch, ClosingSendsThemFirst) {
  for (int i = 0; i < 10; ++i) send();
  job.engine(from).close();
  expect_all_in_order();
  EXPECT_TRUE(job.close_all());
}

TEST_P(Batch, ASleeperSendsThemInsteadOfSleeping) {
  for (int i = 0; i < 10; ++i) send();
  job.engine(from).wait_for_event(Engine::kForever);
  static_cast<void>(job.engine(from).poll(false));
  EXPECT_TRUE(job.engine(from).idle());
}

TEST_P(Batch, NoTargetNoBatches) {
  JobShape without = shape();
  without.relay.origin_batch_target = 0;
  SimulatedJob at_once(without);
  std::vector<std::unique_ptr<Send>> all;
  for (int i = 0; i < 10; ++i)
    all.push_back(std::make_unique<Send>(at_once, from, to, i, pattern(8, 1)));
  EXPECT_EQ(packets_left(at_once.engine(from)), 10U);
}

TEST_P(Batch, TornChannelsKeepTheOrder) {
  for (const std::uint32_t seed : {1U, 2U, 3U, 4U}) {
    JobShape torn = shape();
    torn.seed = seed;
    SimulatedJob rough(torn);
    std::vector<std::unique_ptr<Send>> all;
    for (int i = 0; i < 500; ++i) {
      const std::size_t size = i % 17 == 0 ? 3000 : static_cast<std::size_t>(i % 40);
      all.push_back(
          std::make_unique<Send>(rough, from, to, i, pattern(size, static_cast<unsigned>(i))));
    }
    for (int i = 0; i < 500; ++i) {
      Receive receive(rough, to, kAnySource, kAnyTag, 4000);
      ASSERT_TRUE(rough.run_until([&] { return receive.complete(); }));
      ASSERT_EQ(receive.operation.result.tag, i);
      ASSERT_EQ(receive.bytes(), all[static_cast<std::size_t>(i)]->data);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Routes, Batch, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "ThreeHops" : "OneHop"; });

TEST(BatchWithProgressThread, AProgramThatComputesNeedNotSendWhatItBegan) {
  ThreadedJob job(make_job(JobShape{}));
  Engine& receiver = *job.engines[1];
  receiver.watch(0);
  constexpr std::uint64_t kMessages = 10;
  std::vector<std::vector<std::byte>> data;
  std::vector<std::unique_ptr<SendOperation>> sends;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    data.push_back(pattern(8, static_cast<unsigned>(i)));
    auto& send = *sends.emplace_back(std::make_unique<SendOperation>());
    send.destination = 1;
    send.tag = static_cast<std::int32_t>(i);
    send.buffer = {data.back().data(), data.back().size(), &TypeLayout::basic(BasicType::kByte)};
    job.engines[0]->start(send);
  }
  // Nobody polls for the sender from here on, nor for the receiver.
  std::uint64_t arrived = 0;
  while (arrived < kMessages) arrived = receiver.await_arrival(arrived);
  EXPECT_EQ(arrived, kMessages);
  for (std::uint64_t i = 0; i < kMessages; ++i)
    EXPECT_TRUE(receiver.probe(0, 0, static_cast<std::int32_t>(i)));
}

}  // namespace
}  // namespace impishim::wire
