// SPDX-License-Identifier: Apache-2.0
// Senders to a process whose program stands in a call of the vendor's: long messages of standard
// mode that contest a receive with a native twin come before their match, and unexpected messages
// are acknowledged.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/unit/wire/engine/raw_peer.hpp"
#include "tests/unit/wire/engine/simulated_job.hpp"
#include "wire/progress/progress_thread.hpp"

namespace impishim::wire {
namespace {

using test::JobShape;
using test::pattern;
using test::Receive;
using test::Send;
using test::SimulatedJob;

constexpr std::uint32_t kDatalen = 500;
constexpr std::size_t kLong = 7 * kDatalen + 13;

JobShape shape_of(std::uint32_t seed, Format format = Format::kNative) {
  JobShape shape;
  shape.procs_of_hosts = {{1, 1}, {1}};
  shape.seed = seed;
  shape.format = format;
  shape.values.datalen = kDatalen;
  return shape;
}

/// Ranks 0 and 1 send to rank 2, whose program is elsewhere.
class Relief : public testing::TestWithParam<std::uint32_t> {
 protected:
  Relief() { job.only_these_wait({0, 1}); }
  /// Like MPI_Irecv from MPI_ANY_SOURCE, whose twin stands at the vendor.
  void post(Receive& receive) {
    receive.operation.has_native_twin = true;
    job.engine(2).start(receive.operation);
  }
  void settle(Receive& receive, bool native_won) {
    ReceiveOperation* contested = job.engine(2).contested();
    ASSERT_EQ(contested, &receive.operation);
    job.engine(2).settle(*contested, native_won);
  }
  /// Then what has left its sender arrives.
  [[nodiscard]] bool run_until_complete(const Operation& operation) {
    const bool complete = job.run_until([&] { return operation.complete(); });
    job.settle();
    return complete;
  }

  SimulatedJob job{shape_of(GetParam())};
};

INSTANTIATE_TEST_SUITE_P(Seeds, Relief, testing::Values(0, 1, 2, 3));

TEST_P(Relief, TheSenderOfALongMessageThatContestsAReceiveGoesOn) {
  Receive any(kAnySource, 5, kLong);
  post(any);
  Send send(job, 0, 2, 5, pattern(kLong, 1));
  job.settle();
  ASSERT_FALSE(send.operation.complete())
      << "only the program's thread can tell whether the message matches";
  job.engine(2).relieve();
  ASSERT_TRUE(run_until_complete(send.operation));
  EXPECT_FALSE(any.complete());
  EXPECT_FALSE(job.engine(2).unanswered());
  settle(any, false);
  ASSERT_TRUE(any.complete());
  EXPECT_EQ(any.bytes(), send.data);
  EXPECT_EQ(any.operation.result.source, 0);
  EXPECT_FALSE(any.operation.result.error);
}

TEST_P(Relief, AMessageThatArrivesMeanwhileIsHelpedAtOnce) {
  job.engine(2).relieve();
  Receive any(kAnySource, 5, kLong);
  post(any);
  Send first(job, 0, 2, 5, pattern(kLong, 1));
  ASSERT_TRUE(run_until_complete(first.operation));
  Receive next(kAnySource, 5, kLong);
  post(next);
  Send second(job, 1, 2, 5, pattern(kLong, 2));
  ASSERT_TRUE(run_until_complete(second.operation)) << "it waits behind the contest, and is wanted";
  settle(any, false);
  settle(next, false);
  EXPECT_EQ(any.bytes(), first.data);
  EXPECT_EQ(next.bytes(), second.data);
}

TEST_P(Relief, AMessageThatTheNativeOneBeatGoesToTheNextReceive) {
  Receive any(kAnySource, 5, kLong);
  post(any);
  job.engine(2).relieve();
  Send send(job, 0, 2, 5, pattern(kLong, 1));
  ASSERT_TRUE(run_until_complete(send.operation));
  settle(any, true);
  job.engine(2).end_relief();
  EXPECT_FALSE(any.complete());
  const auto found = job.engine(2).probe(0, kAnySource, 5);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->wire_bytes, kLong);
  Receive next(job, 2, 0, 5, kLong);
  ASSERT_TRUE(next.complete());
  EXPECT_EQ(next.bytes(), send.data);
}

TEST_P(Relief, AMessageMayMatchWhileItIsStillComing) {
  std::mt19937 random(GetParam());
  for (unsigned round = 0; round < 50; ++round) {
    Receive any(kAnySource, 5, kLong);
    post(any);
    Send send(job, 0, 2, 5, pattern(kLong, round));
    job.settle();
    job.engine(2).relieve();
    for (auto polls = random() % (GetParam() == 0 ? 6 : 40); polls > 0; --polls) {
      job.engine(static_cast<int>(random() % 2) * 2).poll(false);
    }
    settle(any, false);
    job.engine(2).end_relief();
    ASSERT_TRUE(run_until_complete(any.operation));
    ASSERT_EQ(any.bytes(), send.data);
    ASSERT_TRUE(run_until_complete(send.operation));
  }
}

TEST_P(Relief, AMatchedProbeTakesAMessageThatHasComeEarly) {
  Receive any(kAnySource, 5, kLong);
  post(any);
  job.engine(2).relieve();
  Send send(job, 0, 2, 5, pattern(kLong, 1));
  ASSERT_TRUE(run_until_complete(send.operation));
  settle(any, true);
  Envelope envelope;
  auto message = job.engine(2).match_probe(0, 0, 5, envelope);
  ASSERT_NE(message, nullptr);
  Receive receive(0, 5, kLong);
  job.engine(2).start_matched(receive.operation, std::move(message));
  ASSERT_TRUE(receive.complete());
  EXPECT_EQ(receive.bytes(), send.data);
}

TEST_P(Relief, ASynchronousMessageWaitsForItsMatchAndIsNamed) {
  for (const std::size_t size : {std::size_t{10}, kLong}) {
    Receive any(kAnySource, 5, kLong);
    post(any);
    job.engine(2).relieve();
    Send send(job, 1, 2, 5, pattern(size, 1), SendMode::kSynchronous);
    job.settle();
    EXPECT_FALSE(send.operation.complete());
    const auto waiting = job.engine(2).unanswered();
    ASSERT_TRUE(waiting);
    EXPECT_EQ(waiting->source, 1);
    EXPECT_EQ(waiting->tag, 5);
    EXPECT_EQ(waiting->bytes, size);
    EXPECT_FALSE(waiting->standard);
    settle(any, false);
    ASSERT_TRUE(run_until_complete(send.operation));
    EXPECT_TRUE(any.complete());
    EXPECT_FALSE(job.engine(2).unanswered());
  }
}

TEST_P(Relief, AMessageThatNoReceiveWantsWaits) {
  Receive any(kAnySource, 5, kLong);
  post(any);
  job.engine(2).relieve();
  Send wanted(job, 0, 2, 5, pattern(kLong, 1));
  Send unwanted(job, 1, 2, 6, pattern(kLong, 2));
  ASSERT_TRUE(run_until_complete(wanted.operation));
  job.settle();
  EXPECT_FALSE(unwanted.operation.complete());
  settle(any, false);
  Receive late(job, 2, 1, 6, kLong);
  ASSERT_TRUE(run_until_complete(late.operation));
  EXPECT_EQ(late.bytes(), unwanted.data);
}

TEST_P(Relief, AMessageThatIsTooLongForItsBufferIsTruncatedAsEver) {
  Receive any(kAnySource, 5, 100);
  post(any);
  job.engine(2).relieve();
  Send send(job, 0, 2, 5, pattern(kLong, 1));
  ASSERT_TRUE(run_until_complete(send.operation));
  settle(any, false);
  ASSERT_TRUE(any.complete());
  ASSERT_TRUE(any.operation.result.error);
  EXPECT_EQ(any.operation.result.error->kind, ErrorKind::kTruncation);
}

TEST_P(Relief, AMessageThatHasBeenAcceptedCannotBeCancelled) {
  for (const bool crossing : {false, true}) {
    Receive any(kAnySource, 5, kLong);
    post(any);
    Send send(job, 0, 2, 5, pattern(kLong, 1));
    job.settle();
    // The question is on its way when the message is accepted, or comes after that.
    if (crossing) job.engine(0).cancel(send.operation);
    job.engine(2).relieve();
    if (!crossing) job.settle();
    if (!crossing) job.engine(0).cancel(send.operation);
    ASSERT_TRUE(run_until_complete(send.operation));
    job.settle();
    EXPECT_FALSE(send.operation.result.cancelled);
    settle(any, true);
    Receive next(job, 2, 0, 5, kLong);
    ASSERT_TRUE(run_until_complete(next.operation));
    EXPECT_EQ(next.bytes(), send.data);
    job.engine(2).end_relief();
  }
}

TEST_P(Relief, AMessageOfAFreedContextIsForgotten) {
  for (const bool whole : {false, true}) {
    Receive any(kAnySource, 5, kLong, 4);
    post(any);
    Send send(job, 0, 2, 5, pattern(kLong, 1), SendMode::kStandard, 4);
    job.settle();
    job.engine(2).relieve();
    if (whole) job.settle();
    settle(any, true);
    job.engine(2).forget_context(4);
    ASSERT_TRUE(run_until_complete(send.operation));
    EXPECT_FALSE(job.engine(2).probe(4, kAnySource, kAnyTag));
  }
  EXPECT_TRUE(job.close_all());
}

/// Unexpected messages use up the flow control credit, and the awaited message is queued behind
/// them.
TEST_P(Relief, WhatNobodyHasAskedForHoldsNothingBack) {
  Receive any(kAnySource, 5, 10);
  post(any);
  std::vector<std::unique_ptr<Send>> before;
  for (unsigned i = 0; i < 50; ++i)
    before.push_back(std::make_unique<Send>(job, 0, 2, 9, pattern(kDatalen, i)));
  Send wanted(job, 0, 2, 5, pattern(10, 1));
  job.settle();
  EXPECT_EQ(job.engine(2).contested_count(), 0U);
  EXPECT_FALSE(wanted.operation.complete());
  job.engine(2).relieve();
  ASSERT_TRUE(run_until_complete(wanted.operation));
  job.settle();
  settle(any, false);
  EXPECT_EQ(any.bytes(), wanted.data);
}

/// The end of the contest may be all that the wait needs. Without a limit, each poll would let in
/// as many messages as flow control permits.
TEST_P(Relief, AContestLetsInNoFloodWhileTheProgramWaits) {
  constexpr unsigned kMessages = 4000;
  job.only_these_wait({0, 1, 2});
  Receive any(kAnySource, 5, kDatalen);
  post(any);
  std::vector<std::unique_ptr<Send>> flood;
  for (unsigned i = 0; i < kMessages; ++i)
    flood.push_back(std::make_unique<Send>(job, 0, 2, 5, pattern(kDatalen, i)));
  job.settle();
  EXPECT_EQ(job.engine(2).contested_count(), 1U);
  EXPECT_LT(job.engine(2).counters().unexpected_messages, kMessages / 2);
}

TEST(ReliefLimit, IsForAllMessagesTogether) {
  JobShape shape = shape_of(0);
  shape.relay.early_message_limit = kLong + 100;
  SimulatedJob job(shape);
  job.only_these_wait({0, 1});
  Receive first(kAnySource, 5, kLong);
  Receive second(kAnySource, 5, kLong);
  for (Receive* each : {&first, &second}) {
    each->operation.has_native_twin = true;
    job.engine(2).start(each->operation);
  }
  job.engine(2).relieve();
  Send in_time(job, 0, 2, 5, pattern(kLong, 1));
  ASSERT_TRUE(job.run_until([&] { return in_time.operation.complete(); }));
  Send too_much(job, 1, 2, 5, pattern(kLong, 2));
  job.settle();
  EXPECT_FALSE(too_much.operation.complete());
  const auto waiting = job.engine(2).unanswered();
  ASSERT_TRUE(waiting);
  EXPECT_EQ(waiting->source, 1);
  EXPECT_TRUE(waiting->standard);
  job.engine(2).settle(*job.engine(2).contested(), false);
  ASSERT_TRUE(first.complete());
  // Its memory is free again.
  job.engine(2).relieve();
  ASSERT_TRUE(job.run_until([&] { return too_much.operation.complete(); }));
  job.engine(2).settle(*job.engine(2).contested(), false);
  EXPECT_EQ(second.bytes(), too_much.data);
}

TEST(ReliefOfForeignSenders, IsNotPossible) {
  for (const int foreign : {0, 1}) {
    JobShape shape = shape_of(0);
    shape.foreign = {foreign};
    SimulatedJob job(shape);
    job.only_these_wait({0, 1});
    Receive any(kAnySource, 5, kLong);
    any.operation.has_native_twin = true;
    job.engine(2).start(any.operation);
    job.engine(2).relieve();
    Send send(job, 0, 2, 5, pattern(kLong, 1));
    job.settle();
    EXPECT_FALSE(send.operation.complete()) << "IMPI does not tell its mode";
    job.engine(2).settle(*job.engine(2).contested(), false);
    ASSERT_TRUE(job.run_until([&] { return send.operation.complete() && any.complete(); }));
    EXPECT_EQ(any.bytes(), send.data);
  }
}

TEST(ReliefInAJobThatFails, CompletesTheReceiveOfAMessageThatIsStillComing) {
  SimulatedJob job(shape_of(0));
  Receive any(kAnySource, 5, 100 * kLong);
  any.operation.has_native_twin = true;
  job.engine(2).start(any.operation);
  auto send = std::make_unique<Send>(job, 0, 2, 5, pattern(100 * kLong, 1));
  job.settle();
  job.engine(2).relieve();
  job.engine(2).settle(*job.engine(2).contested(), false);
  ASSERT_FALSE(any.complete());
  job.kill(0);
  ASSERT_TRUE(job.run_until([&] { return any.complete(); }));
  EXPECT_TRUE(any.operation.result.error);
}

/// What a peer announces is not what it may make this process keep.
class RelievedLiar : public testing::Test {
 protected:
  RelievedLiar() {
    any.operation.has_native_twin = true;
    peer.engine->start(any.operation);
    peer.engine->relieve();
  }
  void announce(std::uint64_t bytes) {
    PacketHeader header = peer.header(PacketType::kDataSync, 1000);
    header.msglen = bytes;
    header.tag = 5;
    header.reserved = kMayComeEarly;
    peer.say(header);
  }
  /// Of the answer to an announcement that has been accepted, or 0.
  [[nodiscard]] std::uint64_t accepted() {
    while (const auto packet = peer.hear()) {
      if (packet->type == PacketType::kSyncAck) return packet->drqid;
    }
    return 0;
  }
  void continue_with(std::uint64_t drqid, std::uint32_t bytes, std::uint64_t of) {
    PacketHeader header = peer.header(PacketType::kData, bytes);
    header.msglen = of;
    header.drqid = drqid;
    peer.say(header);
  }

  Receive any{kAnySource, 5, 2500};
  test::RawPeer peer;
};

TEST_F(RelievedLiar, GetsNoMoreMemoryThanTheLimit) {
  announce(~std::uint64_t{0});
  EXPECT_EQ(accepted(), 0U);
  EXPECT_EQ(peer.failure(), "");
  const auto waiting = peer.engine->unanswered();
  ASSERT_TRUE(waiting);
  EXPECT_TRUE(waiting->standard);
}

TEST_F(RelievedLiar, EndsTheJobWithMoreThanItAnnounced) {
  announce(2500);
  const std::uint64_t drqid = accepted();
  ASSERT_NE(drqid, 0U);
  continue_with(drqid, 1000, 2500);
  EXPECT_EQ(peer.failure(), "");
  continue_with(drqid, 1000, 2500);
  EXPECT_NE(peer.failure(), "") << "500 bytes were left";
}

TEST_F(RelievedLiar, EndsTheJobByGoingOnAfterItsEnd) {
  announce(2500);
  const std::uint64_t drqid = accepted();
  continue_with(drqid, 1000, 2500);
  continue_with(drqid, 500, 2500);
  EXPECT_EQ(peer.failure(), "");
  peer.engine->settle(*peer.engine->contested(), false);
  EXPECT_TRUE(any.complete());
  continue_with(drqid, 500, 2500);
  EXPECT_NE(peer.failure(), "");
}

TEST(ProgressThreadTicks, AreMadeWhenAskedForAndUntilTheyAreNotWanted) {
  const JobMap job = test::make_job(shape_of(0));
  EngineOptions options;
  options.job = job;
  options.format_of_client.assign(job.clients().size(), Format::kNative);
  Engine engine(std::move(options));
  std::atomic<int> ticks{0};
  std::atomic<bool> wanted{true};
  ProgressThread progress(
      engine, [](const Error& error) { ADD_FAILURE() << error.text; },
      [&] {
        ticks.fetch_add(1);
        ticks.notify_all();
        return wanted.load();
      });
  const auto await_more = [&](int more) {
    for (int seen = ticks.load(), last = seen + more; seen < last; seen = ticks.load())
      ticks.wait(seen);
  };
  // Asleep without end until then, and again when the last tick of a round has said so.
  for (int round = 0; round < 3; ++round) {
    wanted.store(true);
    progress.start_ticking();
    await_more(2);
    wanted.store(false);
    await_more(1);
  }
}

class ConvertedRelief : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, ConvertedRelief,
                         testing::Values(Format::kNative, Format::kExternal32, Format::kWide));

TEST_P(ConvertedRelief, WhatComesEarlyIsConvertedAtItsMatch) {
  SimulatedJob job(shape_of(1, GetParam()));
  job.only_these_wait({0, 1});
  std::vector<int> out(1000);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int>(i * 7919);
  std::vector<int> in(out.size());
  const TypeLayout& layout = TypeLayout::basic(BasicType::kInt32);
  ReceiveOperation any;
  any.tag = 5;
  any.has_native_twin = true;
  any.buffer = {reinterpret_cast<std::byte*>(in.data()), in.size(), &layout};
  job.engine(2).start(any);
  job.engine(2).relieve();
  SendOperation send;
  send.destination = 2;
  send.tag = 5;
  send.buffer = {reinterpret_cast<const std::byte*>(out.data()), out.size(), &layout};
  job.engine(0).start(send);
  ASSERT_TRUE(job.run_until([&] { return send.complete(); }));
  job.settle();
  job.engine(2).settle(*job.engine(2).contested(), false);
  ASSERT_TRUE(any.complete());
  EXPECT_FALSE(any.result.error);
  EXPECT_EQ(any.result.native_bytes, out.size() * sizeof(int));
  EXPECT_EQ(in, out);
}

}  // namespace
}  // namespace impishim::wire
