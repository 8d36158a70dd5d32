// SPDX-License-Identifier: Apache-2.0
// Control packets that are early, doubled, crossed or of another process than the one that was
// asked: each ends the job by name, and none has an effect on an operation before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/wire/engine/raw_neighbours.hpp"

namespace impishim::wire {
namespace {

using test::JobShape;
using test::pattern;
using test::RawLink;
using test::RawNeighbours;
using test::Receive;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint32_t kDatalen = 1000;
constexpr std::size_t kFullAfter = 300;  ///< bytes that a channel takes which is to be full

/// The engine is rank 1, on host 1 with rank 2, which relays for rank 3 on host 2. Rank 0 is on
/// host 0.
JobShape shape() {
  JobShape shape;
  shape.procs_of_hosts = {{1}, {2}, {1}};
  shape.values.datalen = kDatalen;
  shape.relay.origin_batch_target = 0;
  return shape;
}

/// A send in memory of its own, which is given back, overwritten, as soon as it is complete.
struct OwnedSend {
  OwnedSend(RawNeighbours& near, int to, std::size_t size, SendMode mode) : data(pattern(size, 1)) {
    operation->destination = to;
    operation->source_rank = 1;
    operation->mode = mode;
    operation->buffer = {data.data(), data.size(), &TypeLayout::basic(BasicType::kByte)};
    near.engine->start(*operation);
  }
  [[nodiscard]] bool complete() const { return operation->complete(); }
  [[nodiscard]] bool failed() const { return complete() && operation->result.error.has_value(); }
  void reuse() { std::ranges::fill(data, std::byte{0xDD}); }

  std::vector<std::byte> data;
  std::unique_ptr<SendOperation> operation = std::make_unique<SendOperation>();
};

class ForgedControl : public testing::Test {
 protected:
  /// The request id of the message whose first packet comes next.
  std::uint64_t hear_request(RawLink& link) {
    const auto packet = near.hear(link);
    return packet ? packet->header.srqid : 0;
  }
  void say(int from, PacketType type, std::uint64_t srqid, std::uint64_t drqid = 0) {
    auto header = near.header(from, type, srqid);
    header.drqid = drqid;
    near.say(near.link_of(from), header);
  }
  void expect_refused(const std::string& offender, const std::string& what) {
    ASSERT_NE(near.engine->failure(), nullptr);
    EXPECT_EQ(near.engine->failure()->kind, ErrorKind::kProtocol);
    EXPECT_THAT(near.failure(),
                AllOf(HasSubstr(offender), HasSubstr("broke the IMPI protocol"), HasSubstr(what)));
  }

  RawNeighbours near{shape()};
};

constexpr const char* kRank0 = "rank 0 (host 0 of system 0, 127.0.1.0, process 100)";
constexpr const char* kRank3 = "rank 3 (host 2 of system 2, 127.0.1.2, process 103)";

/// A channel takes so little that messages stay in their senders' memory.
class ForgedControlAtAFullChannel : public testing::Test {
 protected:
  static JobShape large_packets() {
    JobShape large = shape();
    large.values.datalen = kLarge;
    return large;
  }
  /// The payloads of all packets that leave from now on.
  std::vector<std::byte> drain() {
    std::vector<std::byte> bytes;
    for (int quiet = 0; quiet < 50; ++quiet) {
      const auto packet = near.hear(near.host(0));
      if (!packet) continue;
      bytes.insert(bytes.end(), packet->payload.begin(), packet->payload.end());
      quiet = 0;
    }
    return bytes;
  }
  static bool holds_what_was_written_later(const std::vector<std::byte>& bytes) {
    return std::search_n(bytes.begin(), bytes.end(), 8, std::byte{0xDD}) != bytes.end();
  }
  void answer(PacketType type, std::uint64_t request) {
    near.say(near.host(0), near.header(0, type, request));
  }

  static constexpr std::uint32_t kLarge = 4000;  ///< above what is copied for sending
  RawNeighbours near{large_packets(), 1, kFullAfter};
};

TEST_F(ForgedControlAtAFullChannel, AnEarlySyncAckDoesNotCompleteASendWhosePacketsHaveNotLeft) {
  std::vector<std::unique_ptr<OwnedSend>> sends;
  for (int i = 0; i < 10; ++i)
    sends.push_back(std::make_unique<OwnedSend>(near, 0, kLarge, SendMode::kSynchronous));
  // Ids are easily guessed; the first message is leaving, the others wait behind it.
  for (std::uint64_t id = 2; id <= 10; ++id) answer(PacketType::kSyncAck, id);
  for (auto& each : sends) {
    ASSERT_TRUE(each->complete());
    each->reuse();
  }
  EXPECT_THAT(
      near.failure(),
      AllOf(HasSubstr(kRank0), HasSubstr("a SYNCACK of request 2, whose message has not left")));
  EXPECT_TRUE(sends[1]->failed());
  EXPECT_FALSE(holds_what_was_written_later(drain()));
}

TEST_F(ForgedControlAtAFullChannel, AnEarlyCancelYesDoesNotCompleteASendWhosePacketsHaveNotLeft) {
  const OwnedSend first(near, 0, kLarge, SendMode::kSynchronous);
  OwnedSend second(near, 0, kLarge, SendMode::kStandard);
  near.engine->cancel(*second.operation);
  answer(PacketType::kCancelYes, 2);
  ASSERT_TRUE(second.complete());
  second.reuse();
  EXPECT_THAT(near.failure(),
              AllOf(HasSubstr(kRank0),
                    HasSubstr("a CANCELYES about request 2, whose message has not left")));
  EXPECT_TRUE(second.failed());
  EXPECT_FALSE(second.operation->result.cancelled);
  EXPECT_FALSE(holds_what_was_written_later(drain()));
}

TEST_F(ForgedControlAtAFullChannel, AProtoAckOfPacketsThatHaveNotLeftIsRefused) {
  std::vector<std::unique_ptr<OwnedSend>> sends;
  for (std::uint32_t i = 0; i < shape().values.ackmark; ++i)
    sends.push_back(std::make_unique<OwnedSend>(near, 0, kLarge, SendMode::kStandard));
  answer(PacketType::kProtoAck, 0);
  EXPECT_THAT(near.failure(),
              AllOf(HasSubstr(kRank0), HasSubstr("a PROTOACK of packets that have not left")));
}

TEST_F(ForgedControlAtAFullChannel, AProtoAckOfPacketsThatHaveLeftIsAccepted) {
  std::vector<std::unique_ptr<OwnedSend>> sends;
  for (std::uint32_t i = 0; i <= shape().values.ackmark; ++i)
    sends.push_back(std::make_unique<OwnedSend>(near, 0, kLarge, SendMode::kStandard));
  while (!sends[shape().values.ackmark - 1]->complete()) ASSERT_TRUE(near.hear(near.host(0)));
  answer(PacketType::kProtoAck, 0);
  EXPECT_EQ(near.failure(), "");
}

TEST_F(ForgedControlAtAFullChannel, AFloodOfCancelsIsRefused) {
  constexpr std::uint64_t kFlood = 70000;
  for (std::uint64_t id = 1; id <= kFlood && near.failure().empty(); ++id)
    answer(PacketType::kCancel, id);
  EXPECT_THAT(near.failure(),
              AllOf(HasSubstr(kRank0), HasSubstr("more CANCELs than it reads the answers of")));
}

/// A receiver need not wait for a packet's end before it says that it has matched.
class SyncAckOfAMessageThatIsLeaving : public ForgedControlAtAFullChannel,
                                       public testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, SyncAckOfAMessageThatIsLeaving, testing::Values(4000, 10000));

TEST_P(SyncAckOfAMessageThatIsLeaving, CompletesItWhenItHasLeft) {
  const OwnedSend send(near, 0, GetParam(), SendMode::kSynchronous);
  answer(PacketType::kSyncAck, 1);
  EXPECT_EQ(near.failure(), "");
  EXPECT_FALSE(send.complete());
  EXPECT_EQ(drain(), send.data);
  ASSERT_TRUE(send.complete());
  EXPECT_FALSE(send.failed());
  // Once.
  answer(PacketType::kSyncAck, 1);
  EXPECT_THAT(near.failure(), HasSubstr("a SYNCACK of request 1, which awaits none"));
}

TEST_F(ForgedControl, ASyncAckOfAnotherProcessIsRefused) {
  OwnedSend send(near, 0, 10, SendMode::kSynchronous);
  say(3, PacketType::kSyncAck, hear_request(near.host(0)));
  EXPECT_TRUE(send.failed());
  expect_refused(kRank3, "a SYNCACK of request 1, a message to rank 0");
}

TEST_F(ForgedControl, ADoubledSyncAckIsRefusedAndTouchesNothing) {
  auto send = std::make_unique<OwnedSend>(near, 0, 10, SendMode::kSynchronous);
  const std::uint64_t request = hear_request(near.host(0));
  say(0, PacketType::kSyncAck, request);
  ASSERT_TRUE(send->complete());
  EXPECT_FALSE(send->failed());
  send.reset();
  say(0, PacketType::kSyncAck, request);
  expect_refused(kRank0, "a SYNCACK of request 1, which awaits none");
}

TEST_F(ForgedControl, ADoubledSyncAckOfALongMessageIsRefused) {
  auto send = std::make_unique<OwnedSend>(near, 0, 3 * kDatalen, SendMode::kStandard);
  const std::uint64_t request = hear_request(near.host(0));
  say(0, PacketType::kSyncAck, request, 5);
  ASSERT_TRUE(send->complete());
  send.reset();
  say(0, PacketType::kSyncAck, request, 5);
  expect_refused(kRank0, "which awaits none");
}

TEST_F(ForgedControl, ASyncAckOfAShortStandardMessageIsRefused) {
  const OwnedSend send(near, 0, 10, SendMode::kStandard);
  say(0, PacketType::kSyncAck, hear_request(near.host(0)));
  expect_refused(kRank0, "which awaits none");
}

TEST_F(ForgedControl, ASyncAckOfAShortStandardMessageThatIsBeingCancelledIsRefused) {
  const OwnedSend send(near, 0, 10, SendMode::kStandard);
  near.engine->cancel(*send.operation);
  say(0, PacketType::kSyncAck, hear_request(near.host(0)));
  EXPECT_TRUE(send.failed());
  expect_refused(kRank0, "which has not asked for one");
}

/// They are numbers, and looked up; what no operation has is refused, whatever its value.
TEST_F(ForgedControl, RequestIdsAreNeverPointers) {
  OwnedSend send(near, 0, 10, SendMode::kSynchronous);
  say(0, PacketType::kSyncAck, reinterpret_cast<std::uintptr_t>(send.operation.get()));
  EXPECT_TRUE(send.failed());
  expect_refused(kRank0, "which awaits none");
}

TEST_F(ForgedControl, AnAnswerToACancelThatWasNotAskedIsRefused) {
  for (const auto& [type, name] : {std::pair(PacketType::kCancelYes, "CANCELYES"),
                                   std::pair(PacketType::kCancelNo, "CANCELNO")}) {
    RawNeighbours fresh(shape());
    const OwnedSend send(fresh, 0, 10, SendMode::kSynchronous);
    fresh.say(fresh.host(0), fresh.header(0, type, 1));
    EXPECT_TRUE(send.failed());
    EXPECT_THAT(fresh.failure(), AllOf(HasSubstr(kRank0), HasSubstr(name),
                                       HasSubstr("of which it has not been asked")));
  }
}

TEST_F(ForgedControl, ACancelYesOfAnotherProcessIsRefused) {
  const OwnedSend send(near, 0, 10, SendMode::kSynchronous);
  near.engine->cancel(*send.operation);
  say(3, PacketType::kCancelYes, hear_request(near.host(0)));
  EXPECT_TRUE(send.failed());
  expect_refused(kRank3, "of which it has not been asked");
}

TEST_F(ForgedControl, ADoubledCancelYesIsRefusedAndTouchesNothing) {
  auto send = std::make_unique<OwnedSend>(near, 0, 10, SendMode::kStandard);
  const std::uint64_t request = hear_request(near.host(0));
  near.engine->cancel(*send->operation);
  ASSERT_FALSE(send->complete());
  say(0, PacketType::kCancelYes, request);
  ASSERT_TRUE(send->complete());
  EXPECT_TRUE(send->operation->result.cancelled);
  send.reset();
  say(0, PacketType::kCancelYes, request);
  expect_refused(kRank0, "of which it has not been asked");
}

TEST_F(ForgedControl, ACancelYesAfterTheSyncAckIsRefused) {
  auto send = std::make_unique<OwnedSend>(near, 0, 10, SendMode::kSynchronous);
  const std::uint64_t request = hear_request(near.host(0));
  near.engine->cancel(*send->operation);
  say(0, PacketType::kSyncAck, request);
  ASSERT_TRUE(send->complete());
  EXPECT_FALSE(send->operation->result.cancelled);
  send.reset();
  say(0, PacketType::kCancelYes, request);
  expect_refused(kRank0, "a CANCELYES about request 1, whose message has matched");
}

TEST_F(ForgedControl, ACancelNoAfterTheSyncAckIsItsAnswer) {
  auto send = std::make_unique<OwnedSend>(near, 0, 10, SendMode::kSynchronous);
  const std::uint64_t request = hear_request(near.host(0));
  near.engine->cancel(*send->operation);
  say(0, PacketType::kSyncAck, request);
  ASSERT_TRUE(send->complete());
  send.reset();
  say(0, PacketType::kCancelNo, request);
  EXPECT_EQ(near.failure(), "");
  say(0, PacketType::kCancelNo, request);
  expect_refused(kRank0, "a CANCELNO about request 1, of which it has not been asked");
}

TEST_F(ForgedControl, ADoubledCancelIsAnsweredEachTime) {
  near.say(near.host(0), near.header(0, PacketType::kData, 7, 10));
  for (const PacketType expected :
       {PacketType::kCancelYes, PacketType::kCancelNo, PacketType::kCancelNo}) {
    say(0, PacketType::kCancel, 7);
    const auto answer = near.hear(near.host(0));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->header.type, expected);
    EXPECT_EQ(answer->header.srqid, 7U);
  }
  EXPECT_EQ(near.failure(), "");
}

TEST_F(ForgedControl, ACancelConcernsMessagesOfItsSenderOnly) {
  near.say(near.host(0), near.header(0, PacketType::kData, 7, 10));
  say(3, PacketType::kCancel, 7);
  const auto answer = near.hear(near.local(2));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header.type, PacketType::kCancelNo);
  EXPECT_TRUE(near.engine->probe(0, 0, 0));
}

/// Receives a long message of rank 0 up to its SYNCACK, and forges its rest.
class ForgedRest : public ForgedControl {
 protected:
  ForgedRest() {
    near.engine->start(receive.operation);
    auto first = near.header(0, PacketType::kDataSync, 7, kDatalen);
    first.msglen = kLength;
    near.say(near.host(0), first);
    const auto answer = near.hear(near.host(0));
    EXPECT_TRUE(answer);
    if (answer) drqid = answer->header.drqid;
  }
  [[nodiscard]] PacketHeader rest(int from, std::uint32_t len) const {
    auto header = near.header(from, PacketType::kData, 7, len);
    header.msglen = kLength;
    header.drqid = drqid;
    return header;
  }
  static constexpr std::uint64_t kLength = 2500;
  std::uint64_t drqid = 0;
  Receive receive{0, 0, kLength};
};

TEST_F(ForgedRest, OfAnotherProcessIsRefused) {
  near.say(near.local(2), rest(3, kDatalen));
  EXPECT_TRUE(receive.operation.result.error);
  expect_refused(kRank3, "which is not waiting for any");
}

TEST_F(ForgedRest, OfAnotherLengthIsRefused) {
  auto header = rest(0, kDatalen);
  header.msglen = 5000;
  near.say(near.host(0), header);
  expect_refused(kRank0, "the rest of a message of 5000 bytes that announced 2500");
}

TEST_F(ForgedRest, BeyondTheEndIsRefused) {
  near.say(near.host(0), rest(0, kDatalen));
  near.say(near.host(0), rest(0, 501));
  expect_refused(kRank0, "more data than the 2500 bytes");
}

TEST_F(ForgedRest, AfterTheEndIsRefused) {
  near.say(near.host(0), rest(0, kDatalen));
  near.say(near.host(0), rest(0, 500));
  ASSERT_TRUE(receive.complete());
  EXPECT_FALSE(receive.operation.result.error);
  near.say(near.host(0), rest(0, 500));
  expect_refused(kRank0, "which is not waiting for any");
}

/// IMPI lets messages share a request id: each is one of its own.
TEST_F(ForgedRest, ASecondFirstPacketIsAnotherMessage) {
  auto again = near.header(0, PacketType::kDataSync, 7, kDatalen);
  again.msglen = kLength;
  near.say(near.host(0), again);
  EXPECT_FALSE(near.hear(near.host(0))) << "no receive has taken it";
  near.say(near.host(0), rest(0, kDatalen));
  near.say(near.host(0), rest(0, 500));
  EXPECT_TRUE(receive.complete());
  Receive second(0, 0, kLength);
  near.engine->start(second.operation);
  const auto answer = near.hear(near.host(0));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header.type, PacketType::kSyncAck);
  EXPECT_NE(answer->header.drqid, drqid);
  EXPECT_EQ(near.failure(), "");
}

class ForgedFini : public ForgedControl {
 protected:
  ForgedFini() { say(0, PacketType::kFini, 0); }
};

TEST_F(ForgedFini, MessagesAfterItAreRefused) {
  near.say(near.host(0), near.header(0, PacketType::kData, 7, 10));
  expect_refused(kRank0, "a packet after FINI");
}

TEST_F(ForgedFini, QuestionsAfterItAreRefused) {
  say(0, PacketType::kCancel, 7);
  expect_refused(kRank0, "a packet after FINI");
}

TEST_F(ForgedFini, ASecondOneIsRefused) {
  say(0, PacketType::kFini, 0);
  expect_refused("host 0 of system 0, 127.0.1.0", "a second FINI");
}

TEST_F(ForgedFini, AcknowledgementsAfterItAreTaken) {
  const OwnedSend send(near, 0, 10, SendMode::kSynchronous);
  say(0, PacketType::kSyncAck, hear_request(near.host(0)));
  EXPECT_TRUE(send.complete());
  EXPECT_EQ(near.failure(), "");
}

/// It ends nothing that waits for the other end.
TEST_F(ForgedFini, AnEndOfTheConnectionThatSendsStillNeedEndsTheJob) {
  const OwnedSend send(near, 0, 10, SendMode::kSynchronous);
  near.host(0).cut();
  near.poll();
  ASSERT_TRUE(send.failed());
  EXPECT_THAT(near.failure(), HasSubstr("before it had taken all that was sent to it"));
}

/// A process of this host goes on relaying for others after its own FINI.
TEST_F(ForgedControl, ARelaysFiniIsItsOwn) {
  near.say(near.local(2), near.header(2, PacketType::kFini, 0));
  near.say(near.local(2), near.header(3, PacketType::kData, 7, 10));
  EXPECT_TRUE(near.engine->probe(0, 3, 0));
  near.say(near.local(2), near.header(2, PacketType::kData, 7, 10));
  expect_refused("rank 2 (host 1 of system 1", "a packet after FINI");
}

TEST_F(ForgedControl, AHostMayNotSpeakForAnother) {
  near.say(near.host(0), near.header(3, PacketType::kData, 7, 10));
  expect_refused("host 0 of system 0, 127.0.1.0", "claims to come from rank 3");
}

TEST_F(ForgedControl, ARelayMayNotSpeakForThoseOfWhomItDoesNotRelay) {
  near.say(near.local(2), near.header(0, PacketType::kData, 7, 10));
  expect_refused("rank 2 (host 1 of system 1", "claims to come from rank 0");
}

/// Hosts are connected with each other: what comes from one does not go to another by way of a
/// third.
TEST(ForgedRoute, FromOneHostToAnotherIsRefused) {
  JobShape wide = shape();
  wide.procs_of_hosts = {{1}, {1}, {1}};
  RawNeighbours near(wide);
  auto header = near.header(0, PacketType::kData, 7, 10);
  header.dest = near.id_of(2);
  near.say(near.host(0), header);
  EXPECT_THAT(near.failure(),
              AllOf(HasSubstr("host 0"),
                    HasSubstr("a packet for rank 2, which is not to be reached here")));
  EXPECT_NE(near.engine->failure(), nullptr);
}

TEST(ForgedAbort, OfAForeignHostIsRefused) {
  for (const PacketType type : {PacketType::kAbort, PacketType::kRelayAck}) {
    JobShape foreign = shape();
    foreign.foreign = {0};
    RawNeighbours near(foreign);
    near.say(near.host(0), near.header(0, type, 0));
    EXPECT_THAT(near.failure(),
                AllOf(HasSubstr("host 0 of system 0"), HasSubstr("only systems of this library")));
    EXPECT_FALSE(near.engine->abort_code());
  }
}

/// The engine fails while it sends it, before anything else knows of it.
TEST(LostConnection, CompletesAMessageThatWasNotEvenQueued) {
  JobShape wide = shape();
  wide.values.datalen = 65536;
  RawNeighbours near(wide);
  near.host(0).cut();
  const OwnedSend send(near, 0, Engine::kLongestShort + 1, SendMode::kStandard);
  EXPECT_TRUE(send.failed());
}

}  // namespace
}  // namespace impishim::wire
