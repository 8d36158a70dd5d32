// SPDX-License-Identifier: Apache-2.0
// The loss of a client that does not end the job: what becomes of the operations of the others.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"
#include "wire/link/relay_credit.hpp"

namespace impishim::wire::test {
namespace {

constexpr std::size_t kLong = 50000;

/// Systems of one, one and two processes; the first and the last go on without the second, whose
/// only process is rank 1.
class LossTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  LossTest() : job(shape(GetParam())) {
    for (const int rank : {0, 1, 2, 3}) job.engine(rank).survive_losses(true);
  }
  static JobShape shape(std::uint32_t seed) {
    JobShape made{.procs_of_hosts = {{1}, {1}, {2}}, .seed = seed, .values = {.datalen = 1000}};
    made.values.hiwater = 4;
    made.values.ackmark = 2;
    return made;
  }
  /// Ends the second system, as a crash does, and lets the others notice.
  void lose() {
    job.kill(1);
    ASSERT_TRUE(job.run_until([&] {
      for (const int rank : kSurvivors) {
        if (job.engine(rank).lost_count() != 1) return false;
      }
      return true;
    }));
    for (const int rank : kSurvivors) {
      EXPECT_EQ(job.engine(rank).lost_clients(), std::vector<std::int32_t>{1});
      EXPECT_EQ(job.engine(rank).failure(), nullptr) << job.engine(rank).failure()->text;
      job.engine(rank).close_sources(0, 1, kLostRanks);
    }
  }
  static testing::AssertionResult is_lost(const Operation& operation) {
    if (!operation.complete()) return testing::AssertionFailure() << "not complete";
    if (!operation.result.error) return testing::AssertionFailure() << "no error";
    if (operation.result.error->kind != ErrorKind::kLost)
      return testing::AssertionFailure() << operation.result.error->text;
    return testing::AssertionSuccess();
  }
  void survivors_talk() {
    for (const int from : kSurvivors) {
      for (const int to : kSurvivors) {
        if (job.job().proc(from).client == job.job().proc(to).client) continue;
        const auto bytes = pattern(kLong, static_cast<unsigned>(from));
        Receive receive(job, to, from, 5, kLong);
        Send send(job, from, to, 5, bytes);
        EXPECT_TRUE(job.run_until([&] { return receive.complete() && send.operation.complete(); }));
        EXPECT_FALSE(receive.operation.result.error);
        EXPECT_EQ(receive.bytes(), bytes);
      }
    }
  }
  bool survivors_close() {
    for (const int rank : kSurvivors) job.engine(rank).close();
    return job.run_until([&] {
      for (const int rank : kSurvivors) {
        if (!job.engine(rank).closed()) return false;
      }
      return true;
    });
  }

  static constexpr std::array kSurvivors = {0, 2, 3};
  static constexpr std::array<std::int32_t, 1> kLostRanks = {1};
  SimulatedJob job;
};

TEST_P(LossTest, TheOthersGoOnAndFinish) {
  lose();
  survivors_talk();
  EXPECT_TRUE(survivors_close());
}

TEST_P(LossTest, PendingReceivesEnd) {
  Receive at_0(job, 0, 1, 7, 10);
  Receive at_3(job, 3, 1, kAnyTag, 10);
  Receive any(job, 3, kAnySource, 7, 10);
  Receive of_another(job, 3, 0, 8, 10);
  lose();
  EXPECT_TRUE(is_lost(at_0.operation));
  EXPECT_TRUE(is_lost(at_3.operation));
  EXPECT_TRUE(is_lost(any.operation));
  EXPECT_FALSE(of_another.complete());
  Send send(job, 0, 3, 8, pattern(10, 1));
  EXPECT_TRUE(job.run_until([&] { return of_another.complete(); }));
  EXPECT_FALSE(of_another.operation.result.error);
  EXPECT_TRUE(survivors_close());
}

TEST_P(LossTest, LaterReceivesEndAtOnce) {
  lose();
  Receive named(job, 3, 1, 7, 10);
  EXPECT_TRUE(is_lost(named.operation));
  Receive any(job, 3, kAnySource, 7, 10);
  EXPECT_TRUE(is_lost(any.operation));
  EXPECT_TRUE(job.engine(3).closed_source(0, 1));
  EXPECT_FALSE(job.engine(3).closed_source(0, 0));
  EXPECT_FALSE(job.engine(3).closed_source(4, 1)) << "another communicator";
}

TEST_P(LossTest, AnySourceMayWaitAgainOnceTheLossIsAcknowledged) {
  lose();
  job.engine(3).open_any_source(0);
  Receive any(job, 3, kAnySource, 7, 10);
  EXPECT_FALSE(any.complete());
  EXPECT_TRUE(is_lost(Receive(job, 3, 1, 7, 10).operation));
  Send send(job, 0, 3, 7, pattern(10, 1));
  EXPECT_TRUE(job.run_until([&] { return any.complete(); }));
  EXPECT_FALSE(any.operation.result.error);
}

TEST_P(LossTest, PendingSendsEnd) {
  Send synchronous(job, 3, 1, 7, pattern(10, 1), SendMode::kSynchronous);
  Send long_one(job, 3, 1, 7, pattern(kLong, 1));
  Send direct(job, 0, 1, 7, pattern(kLong, 1));
  std::vector<std::unique_ptr<Send>> held;
  for (int i = 0; i < 10; ++i)
    held.push_back(std::make_unique<Send>(job, 3, 1, 8, pattern(900, 1)));
  job.only_these_wait({0, 2, 3});
  job.settle();
  lose();
  job.settle();
  EXPECT_TRUE(is_lost(synchronous.operation));
  EXPECT_TRUE(is_lost(long_one.operation));
  EXPECT_TRUE(is_lost(direct.operation));
  for (const auto& each : held) EXPECT_TRUE(each->operation.complete());
  EXPECT_TRUE(is_lost(held.back()->operation));
  survivors_talk();
  EXPECT_TRUE(survivors_close());
}

TEST_P(LossTest, LaterSendsEndAtOnce) {
  lose();
  EXPECT_TRUE(is_lost(Send(job, 3, 1, 7, pattern(10, 1)).operation));
  EXPECT_TRUE(is_lost(Send(job, 2, 1, 7, pattern(kLong, 1)).operation));
  EXPECT_TRUE(is_lost(Send(job, 0, 1, 7, {}, SendMode::kSynchronous).operation));
  ShortMessage message;
  message.destination = 1;
  EXPECT_FALSE(job.engine(0).send_short(message));
}

TEST_P(LossTest, AMessageThatHasArrivedWholeCanStillBeReceived) {
  Send send(job, 1, 3, 7, pattern(100, 1));
  Send synchronous(job, 1, 3, 7, pattern(100, 2), SendMode::kSynchronous);
  ASSERT_TRUE(job.run_until([&] { return job.engine(3).probe(0, 1, 7).has_value(); }));
  job.settle();
  lose();
  Receive receive(job, 3, 1, 7, 100);
  ASSERT_TRUE(receive.complete());
  EXPECT_FALSE(receive.operation.result.error);
  EXPECT_EQ(receive.bytes(), pattern(100, 1));
  Receive any(job, 3, kAnySource, 7, 100);
  ASSERT_TRUE(any.complete());
  EXPECT_EQ(any.bytes(), pattern(100, 2));
  EXPECT_TRUE(is_lost(Receive(job, 3, 1, 7, 100).operation));
  EXPECT_TRUE(survivors_close());
}

TEST_P(LossTest, ALongMessageThatHasOnlyBegunIsForgotten) {
  Send send(job, 1, 3, 7, pattern(kLong, 1));
  ASSERT_TRUE(job.run_until([&] { return job.engine(3).probe(0, 1, 7).has_value(); }));
  lose();
  EXPECT_FALSE(job.engine(3).probe(0, 1, 7));
  EXPECT_TRUE(is_lost(Receive(job, 3, 1, 7, kLong).operation));
}

TEST_P(LossTest, AReceiveInTheMiddleOfItsMessageEnds) {
  Receive receive(job, 3, 1, 7, kLong * 20);
  Receive direct(job, 0, 1, 7, kLong * 20);
  Send send(job, 1, 3, 7, pattern(kLong * 20, 1));
  Send second(job, 1, 0, 7, pattern(kLong * 20, 1));
  const auto before = job.engine(3).counters().payload_bytes_received;
  ASSERT_TRUE(job.run_until([&] {
    return job.engine(3).counters().payload_bytes_received > before + kLong &&
           job.engine(0).counters().payload_bytes_received > kLong;
  }));
  ASSERT_FALSE(receive.complete());
  lose();
  job.settle();
  EXPECT_TRUE(is_lost(receive.operation));
  EXPECT_TRUE(is_lost(direct.operation));
  survivors_talk();
  EXPECT_TRUE(survivors_close());
}

TEST_P(LossTest, AMessageTakenByAProbeEndsWithTheErrorIfItsRestIsMissing) {
  Send send(job, 1, 3, 7, pattern(kLong, 1));
  Envelope envelope;
  MatchedMessagePointer message;
  ASSERT_TRUE(job.run_until([&] {
    message = job.engine(3).match_probe(0, 1, 7, envelope);
    return message != nullptr;
  }));
  lose();
  Receive receive(1, 7, kLong);
  job.engine(3).start_matched(receive.operation, std::move(message));
  EXPECT_TRUE(is_lost(receive.operation));
}

TEST_P(LossTest, AReceiveWithATwinIsContestedByTheLoss) {
  Receive first(kAnySource, 7, 10);
  Receive second(kAnySource, 8, 10);
  first.operation.has_native_twin = second.operation.has_native_twin = true;
  job.engine(3).start(first.operation);
  job.engine(3).start(second.operation);
  lose();
  EXPECT_EQ(job.engine(3).contested_count(), 1);
  ReceiveOperation* contested = job.engine(3).contested();
  ASSERT_EQ(contested, &first.operation);
  job.engine(3).settle(first.operation, false);
  EXPECT_TRUE(is_lost(first.operation));
  contested = job.engine(3).contested();
  ASSERT_EQ(contested, &second.operation);
  job.engine(3).settle(second.operation, true);
  EXPECT_EQ(job.engine(3).contested_count(), 0);
  EXPECT_FALSE(second.complete()) << "the twin has its message";
  Receive later(kAnySource, 8, 10);
  later.operation.has_native_twin = true;
  job.engine(3).start(later.operation);
  EXPECT_TRUE(is_lost(later.operation));
  EXPECT_FALSE(later.operation.has_native_twin) << "no twin is to be posted";
}

TEST_P(LossTest, CreditOfMessagesThatWereRelayedReturns) {
  RelayOptions relay;
  relay.local_sender_limit = 2 * RelayDebt::kLeastLimit;
  JobShape made = shape(GetParam());
  made.relay = relay;
  made.values.hiwater = 1000;
  made.values.ackmark = 500;
  SimulatedJob small(made);
  for (const int rank : {0, 1, 2, 3}) small.engine(rank).survive_losses(true);
  small.stop({1});
  std::vector<std::unique_ptr<Send>> sends;
  for (int i = 0; i < 400; ++i)
    sends.push_back(std::make_unique<Send>(small, 2, 1, 8, pattern(900, 1)));
  for (int i = 0; i < 400; ++i)
    sends.push_back(std::make_unique<Send>(small, 3, 1, 8, pattern(900, 1)));
  small.settle();
  small.kill(1);
  EXPECT_TRUE(small.run_until([&] {
    for (const auto& each : sends) {
      if (!each->operation.complete()) return false;
    }
    return true;
  }));
  for (const int from : {2, 3}) {
    Receive receive(small, 0, from, 5, kLong);
    Send send(small, from, 0, 5, pattern(kLong, 3));
    EXPECT_TRUE(small.run_until([&] { return receive.complete() && send.operation.complete(); }));
    EXPECT_EQ(receive.bytes(), pattern(kLong, 3));
  }
}

TEST_P(LossTest, ASystemOfWhichAProcessDiesEndsAndTheOthersGoOn) {
  job.kill(3);
  EXPECT_TRUE(job.run_until([&] { return job.engine(2).failure() != nullptr; }));
  EXPECT_TRUE(job.run_until(
      [&] { return job.engine(0).lost_count() == 1 && job.engine(1).lost_count() == 1; }));
  for (const int rank : {0, 1}) {
    EXPECT_EQ(job.engine(rank).lost_clients(), std::vector<std::int32_t>{2});
    EXPECT_EQ(job.engine(rank).failure(), nullptr);
  }
}

TEST_P(LossTest, OneThatDoesNotWantToGoOnEndsTheJob) {
  job.engine(3).survive_losses(false);
  job.kill(1);
  EXPECT_TRUE(job.run_until([&] {
    for (const int rank : kSurvivors) {
      if (job.engine(rank).failure() == nullptr) return false;
    }
    return true;
  }));
}

TEST_P(LossTest, TwoSystemsCanBeLost) {
  job.kill(1);
  job.kill(0);
  EXPECT_TRUE(job.run_until(
      [&] { return job.engine(2).lost_count() == 2 && job.engine(3).lost_count() == 2; }));
  job.engine(2).close();
  job.engine(3).close();
  EXPECT_TRUE(job.run_until([&] { return job.engine(2).closed() && job.engine(3).closed(); }));
}

TEST_P(LossTest, WhereOneLinkIsCutThoseThatGoOnAgree) {
  JobShape made = shape(GetParam());
  made.cut_hosts = {0, 1};
  made.cut_after = 1;
  SimulatedJob cut(made);
  for (const int rank : {0, 1, 2, 3}) cut.engine(rank).survive_losses(true);
  Send first(cut, 0, 1, 7, pattern(10, 1));
  Send second(cut, 1, 0, 7, pattern(10, 1));
  const auto ended = [&](int rank) { return cut.engine(rank).failure() != nullptr; };
  EXPECT_TRUE(cut.run_until([&] { return ended(0) || ended(1); }));
  cut.settle();
  // One of them ends, or both if the processes of the third system heard from different ones first.
  std::vector<std::int32_t> lost;
  for (const std::int32_t client : {0, 1}) {
    if (ended(client)) lost.push_back(client);
  }
  for (const int rank : {0, 1, 2, 3}) {
    if (rank < 2 && ended(rank)) continue;
    EXPECT_FALSE(ended(rank));
    EXPECT_EQ(cut.engine(rank).lost_clients(), lost);
  }
}

TEST_P(LossTest, AGatewayPassesTheLossOn) {
  JobShape made = shape(GetParam());
  made.procs_of_hosts = {{1}, {1}, {3}};
  made.gateways = {-1, -1, 1};
  SimulatedJob job_of_gateway(made);
  for (int rank = 0; rank < 5; ++rank) job_of_gateway.engine(rank).survive_losses(true);
  Send waits(job_of_gateway, 2, 1, 7, pattern(kLong, 1));
  job_of_gateway.settle();
  job_of_gateway.kill(1);
  EXPECT_TRUE(job_of_gateway.run_until([&] {
    for (const int rank : {0, 2, 3, 4}) {
      if (job_of_gateway.engine(rank).lost_count() != 1) return false;
    }
    return waits.operation.complete();
  }));
  EXPECT_TRUE(is_lost(waits.operation));
  Receive receive(job_of_gateway, 0, 4, 5, kLong);
  Send send(job_of_gateway, 4, 0, 5, pattern(kLong, 2));
  EXPECT_TRUE(job_of_gateway.run_until([&] { return receive.complete(); }));
  EXPECT_EQ(receive.bytes(), pattern(kLong, 2));
}

INSTANTIATE_TEST_SUITE_P(Seeds, LossTest, testing::Range(0U, 40U));

}  // namespace
}  // namespace impishim::wire::test
