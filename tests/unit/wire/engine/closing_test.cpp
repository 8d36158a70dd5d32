// SPDX-License-Identifier: Apache-2.0
// The end of a job: FINI, streams that end without it, aborts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/wire/engine/raw_peer.hpp"
#include "tests/unit/wire/engine/simulated_job.hpp"

namespace impishim::wire {
namespace {

using test::JobShape;
using test::pattern;
using test::RawPeer;
using test::Receive;
using test::Send;
using test::SimulatedJob;
using testing::HasSubstr;

JobShape two_hosts(std::uint32_t seed) {
  JobShape shape;
  shape.procs_of_hosts = {{2}, {2}};
  shape.seed = seed;
  shape.values.datalen = 1000;
  shape.values.lanes = seed % 2 == 0 ? 1 : 2;
  return shape;
}

class Closing : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Closing, testing::Values(0, 1, 2, 3));

TEST_P(Closing, WaitsForWhatWasSent) {
  SimulatedJob job(two_hosts(GetParam()));
  Send send(job, 0, 3, 1, pattern(50000, 1));
  job.engine(0).close();
  EXPECT_FALSE(job.engine(0).closed());
  Receive receive(job, 3, 0, 1, 50000);
  ASSERT_TRUE(job.run_until([&] { return receive.complete() && send.operation.complete(); }));
  EXPECT_TRUE(receive.bytes() == send.data);
  EXPECT_TRUE(job.close_all());
  for (int rank = 0; rank < job.size(); ++rank)
    EXPECT_EQ(job.engine(rank).failure(), nullptr) << rank;
}

TEST_P(Closing, WaitsForTheOthers) {
  SimulatedJob job(two_hosts(GetParam()));
  for (const int rank : {0, 1, 2}) job.engine(rank).close();
  job.settle();
  // Rank 3 may still send through rank 2, so no FINI has left its host.
  EXPECT_FALSE(job.engine(0).closed());
  EXPECT_FALSE(job.engine(2).closed());
  job.engine(3).close();
  EXPECT_TRUE(job.run_until([&] { return job.engine(0).closed() && job.engine(2).closed(); }));
}

/// A gateway speaks for its host wherever it stands in it.
TEST_P(Closing, WaitsForTheOthersAtAGateway) {
  JobShape shape = two_hosts(GetParam());
  shape.procs_of_hosts = {{3}, {2}};
  shape.gateways = {1, 1};
  SimulatedJob job(shape);
  for (const int rank : {0, 1, 3, 4}) job.engine(rank).close();
  job.settle();
  for (const int gateway : {1, 4}) EXPECT_FALSE(job.engine(gateway).closed()) << gateway;
  Send send(job, 2, 4, 1, pattern(10, 1));
  job.settle();
  job.engine(2).close();
  EXPECT_TRUE(job.close_all());
  for (int rank = 0; rank < job.size(); ++rank)
    EXPECT_EQ(job.engine(rank).failure(), nullptr) << rank;
}

TEST_P(Closing, TellsEverybodyThatAGatewayHasDied) {
  JobShape shape = two_hosts(GetParam());
  shape.procs_of_hosts = {{3}, {2}};
  shape.gateways = {1};
  SimulatedJob job(shape);
  job.settle();
  job.kill(1);
  ASSERT_TRUE(job.run_until([&] {
    for (const int rank : {0, 2, 3, 4}) {
      if (job.engine(rank).failure() == nullptr) return false;
    }
    return true;
  }));
  for (const int rank : {0, 2, 3})
    EXPECT_THAT(job.engine(rank).failure()->text, HasSubstr("without FINI")) << rank;
}

TEST_P(Closing, DestroysWhatNobodyReceived) {
  SimulatedJob job(two_hosts(GetParam()));
  Send send(job, 0, 2, 1, pattern(10, 1));
  job.settle();
  EXPECT_TRUE(job.close_all());
}

TEST_P(Closing, IsTheEndOfEveryOperationWhenAPeerDies) {
  SimulatedJob job(two_hosts(GetParam()));
  Receive waiting(job, 0, 2, 1, 10);
  Receive of_other(job, 1, 3, 1, 10);
  Send unanswered(job, 1, 3, 9, pattern(5000, 1));
  job.settle();
  job.kill(2);
  ASSERT_TRUE(job.run_until([&] {
    return waiting.complete() && of_other.complete() && unanswered.operation.complete();
  }));
  ASSERT_TRUE(waiting.operation.result.error);
  EXPECT_EQ(waiting.operation.result.error->kind, ErrorKind::kConnection);
  EXPECT_THAT(waiting.operation.result.error->text, HasSubstr("without FINI"));
  EXPECT_FALSE(job.engine(0).carried_out(waiting.operation));
  EXPECT_FALSE(job.engine(1).carried_out(of_other.operation));
  EXPECT_FALSE(job.engine(1).carried_out(unanswered.operation));
  // Rank 1 has no channel to the dead process: it is told why by its representative.
  EXPECT_TRUE(of_other.operation.result.error);
  EXPECT_TRUE(unanswered.operation.result.error);
  for (const int rank : {0, 1, 3}) ASSERT_NE(job.engine(rank).failure(), nullptr) << rank;
}

TEST_P(Closing, IsToldToEverybodyByAnAbort) {
  SimulatedJob job(two_hosts(GetParam()));
  Receive waiting(job, 3, 0, 1, 10);
  Receive earlier(job, 3, 0, 2, 4);
  Receive too_short(job, 3, 0, 3, 4);
  Send brought(job, 0, 3, 2, pattern(4, 1));
  Send too_long(job, 0, 3, 3, pattern(5, 1));
  ASSERT_TRUE(job.run_until([&] { return earlier.complete() && too_short.complete(); }));
  EXPECT_TRUE(job.engine(3).carried_out(earlier.operation));
  EXPECT_TRUE(job.engine(3).carried_out(too_short.operation)) << "an error of its own";
  job.engine(1).announce_abort(42, "rank 1 gave up");
  ASSERT_TRUE(job.run_until([&] {
    return job.engine(0).failure() != nullptr && job.engine(2).failure() != nullptr &&
           job.engine(3).failure() != nullptr;
  }));
  for (const int rank : {0, 2, 3}) {
    EXPECT_EQ(job.engine(rank).failure()->kind, ErrorKind::kAborted);
    EXPECT_EQ(job.engine(rank).failure()->text, "rank 1 gave up");
    EXPECT_EQ(job.engine(rank).abort_code(), 42);
  }
  ASSERT_TRUE(waiting.complete());
  EXPECT_EQ(waiting.operation.result.error->kind, ErrorKind::kAborted);
  EXPECT_FALSE(job.engine(3).carried_out(waiting.operation));
  EXPECT_TRUE(job.engine(3).carried_out(earlier.operation));
}

TEST_P(Closing, TextOfAnAbortCannotSteerTheTerminalOfOthers) {
  SimulatedJob job(two_hosts(GetParam()));
  job.engine(1).announce_abort(1, "\x1b[2Jover\nimpishim: all is well");
  ASSERT_TRUE(job.run_until([&] { return job.engine(3).failure() != nullptr; }));
  EXPECT_EQ(job.engine(3).failure()->text, "\\x1b[2Jover\\nimpishim: all is well");
}

/// Wherever the connection is cut, both sides end: with the whole exchange done, or with a failure
/// that names the cause.
TEST_P(Closing, EndsWhereverTheConnectionIsCut) {
  int failures = 0;
  int successes = 0;
  for (std::uint64_t cut = 1; cut < 6000; cut += cut < 600 ? 13 : 117) {
    JobShape shape = two_hosts(GetParam());
    shape.procs_of_hosts = {{1}, {1}};
    shape.cut_after = cut;
    SimulatedJob job(shape);
    Send shorter(job, 0, 1, 1, pattern(100, 1), SendMode::kSynchronous);
    Send longer(job, 0, 1, 2, pattern(3500, 2));
    Receive first(job, 1, 0, 1, 100);
    Receive second(job, 1, 0, 2, 3500);
    ASSERT_TRUE(job.run_until([&] {
      return shorter.operation.complete() && longer.operation.complete() && first.complete() &&
             second.complete();
    })) << cut;
    EXPECT_TRUE(first.operation.result.error || first.data == shorter.data);
    EXPECT_TRUE(second.operation.result.error || second.data == longer.data);
    const bool closed = job.close_all();
    const bool failed = job.engine(0).failure() != nullptr || job.engine(1).failure() != nullptr;
    EXPECT_NE(closed, failed) << cut;
    (failed ? failures : successes) += 1;
  }
  EXPECT_GT(failures, 30);
  EXPECT_GT(successes, 0);
}

TEST(EndOfStream, WithoutFiniNamesTheHost) {
  RawPeer peer;
  peer.channel.reset();
  peer.engine->poll(false);
  ASSERT_NE(peer.engine->failure(), nullptr);
  EXPECT_EQ(peer.engine->failure()->kind, ErrorKind::kConnection);
  EXPECT_THAT(peer.failure(), HasSubstr("ended without FINI"));
}

TEST(EndOfStream, AfterFiniIsTheEnd) {
  RawPeer peer;
  peer.say(peer.header(PacketType::kFini));
  peer.channel->shutdown_output();
  peer.engine->poll(false);
  EXPECT_EQ(peer.engine->failure(), nullptr);
  peer.engine->close();
  for (int i = 0; i < 5; ++i) peer.engine->poll(false);
  EXPECT_TRUE(peer.engine->closed());
  const auto last = peer.hear();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->type, PacketType::kFini);
}

/// IMPI 3.8: after its own FINI a host goes on reading and acknowledging until the peer's has come.
TEST(EndOfStream, DoesNotComeBeforeThePeersFini) {
  RawPeer peer;
  peer.engine->close();
  ASSERT_EQ(peer.hear()->type, PacketType::kFini);
  EXPECT_FALSE(peer.engine->closed());
  auto message = peer.header(PacketType::kData, 1000);
  for (int i = 0; i < 10; ++i) {
    Receive receive(0, kAnyTag, 1000);
    peer.engine->start(receive.operation);
    peer.say(message);
    EXPECT_TRUE(receive.complete());
  }
  const auto acknowledgement = peer.hear();
  ASSERT_TRUE(acknowledgement);
  EXPECT_EQ(acknowledgement->type, PacketType::kProtoAck);
  EXPECT_FALSE(peer.engine->closed());
  peer.say(peer.header(PacketType::kFini));
  peer.channel->shutdown_output();
  for (int i = 0; i < 5; ++i) peer.engine->poll(false);
  EXPECT_TRUE(peer.engine->closed());
}

/// A foreign implementation would not understand our abort packet; it sees the connection end
/// instead.
TEST(Abort, IsNotSentToForeignClients) {
  const RawPeer peer(
      {.procs_of_hosts = {{1}, {1}, {1}}, .values = {.datalen = 1000}, .foreign = {0}});
  peer.engine->announce_abort(1, "over");
  EXPECT_FALSE(peer.hear());
}

TEST(Abort, BringsItsTextAndCode) {
  const RawPeer peer;
  auto header = peer.header(PacketType::kAbort);
  const std::string text = "disk full";
  header.tag = 7;
  header.len = static_cast<std::uint32_t>(text.size());
  header.msglen = text.size();
  std::vector<std::byte> bytes(kPacketHeaderSize);
  encode_packet_header(header, std::span(bytes).first<kPacketHeaderSize>());
  for (const char letter : text) bytes.push_back(static_cast<std::byte>(letter));
  peer.say_bytes(bytes);
  peer.engine->poll(false);
  EXPECT_EQ(peer.failure(), text);
  EXPECT_EQ(peer.engine->abort_code(), 7);
}

}  // namespace
}  // namespace impishim::wire
