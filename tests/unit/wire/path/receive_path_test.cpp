// SPDX-License-Identifier: Apache-2.0
#include "wire/path/receive_path.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/wire/path/path_parts.hpp"

namespace impishim::wire::test {
namespace {

const JobShape kTwoSystems{.procs_of_hosts = {{1}, {1}},
                           .values = {.datalen = 1000, .ackmark = 1, .hiwater = 2}};

/// Process 0, to which process 1 of another system sends.
class ReceivePathTest : public testing::Test {
 protected:
  explicit ReceivePathTest(const JobShape& shape = kTwoSystems) : parts(shape) {}
  [[nodiscard]] std::string arrive(const PacketHeader& header) {
    return parts.arrive(parts.link_to_host(1), parts.host(1), header);
  }
  [[nodiscard]] PacketHeader message(std::uint32_t len, PacketType type = PacketType::kData) {
    return parts.header(1, 0, type, len);
  }
  [[nodiscard]] PacketHeader long_message(std::uint64_t size) {
    PacketHeader made = message(1000, PacketType::kDataSync);
    made.msglen = size;
    return made;
  }
  /// Returns the rest of a long message, as far as one packet takes it.
  [[nodiscard]] PacketHeader rest_of(std::uint64_t size, std::uint64_t request, std::uint32_t len) {
    PacketHeader made = message(len);
    made.msglen = size;
    made.drqid = request;
    return made;
  }
  PathParts parts;
};

class ForeignReceivePathTest : public ReceivePathTest {
 protected:
  ForeignReceivePathTest()
      : ReceivePathTest({.procs_of_hosts = {{1}, {1}},
                         .values = {.datalen = 1000, .ackmark = 2, .hiwater = 2},
                         .foreign = {1}}) {}
};

TEST_F(ReceivePathTest, AMessageGoesToItsPostedReceive) {
  Receive receive(1, 0, 100);
  parts.receive_path.start(receive.operation);
  EXPECT_EQ(arrive(message(100)), "");
  ASSERT_TRUE(receive.complete());
  EXPECT_EQ(receive.bytes(), pattern(100, 5));
  EXPECT_EQ(receive.operation.result.native_bytes, 100U);
}

TEST_F(ReceivePathTest, AnUnexpectedMessageWaitsForItsReceive) {
  parts.receive_path.arrivals().watch(0);
  EXPECT_EQ(arrive(message(100)), "");
  EXPECT_EQ(parts.receive_path.queue().unexpected(), 1U);
  EXPECT_EQ(parts.receive_path.arrivals().count(), 1U);
  EXPECT_EQ(parts.state.counters.unexpected_messages, 1U);
  Receive receive(1, 0, 100);
  parts.receive_path.start(receive.operation);
  ASSERT_TRUE(receive.complete());
  EXPECT_EQ(receive.bytes(), pattern(100, 5));
}

TEST_F(ReceivePathTest, ALongMessageIsAnsweredAndCompletesWithItsRest) {
  Receive receive(1, 0, 1500);
  parts.receive_path.start(receive.operation);
  EXPECT_EQ(arrive(long_message(1500)), "");
  const auto answer = PathParts::hear(parts.host(1));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header.type, PacketType::kSyncAck);
  EXPECT_EQ(parts.receive_path.long_receives(), 1U);
  EXPECT_EQ(arrive(rest_of(1500, answer->header.drqid, 500)), "");
  EXPECT_TRUE(receive.complete());
  EXPECT_EQ(parts.receive_path.long_receives(), 0U);
}

TEST_F(ReceivePathTest, RefusesMoreDataThanAMessageAnnounced) {
  Receive receive(1, 0, 1500);
  parts.receive_path.start(receive.operation);
  EXPECT_EQ(arrive(long_message(1500)), "");
  const auto answer = PathParts::hear(parts.host(1));
  ASSERT_TRUE(answer);
  EXPECT_NE(arrive(rest_of(1500, answer->header.drqid, 501)).find("more data than"),
            std::string::npos);
  EXPECT_FALSE(receive.complete());
}

TEST_F(ReceivePathTest, RefusesTheRestOfNoMessage) {
  EXPECT_NE(arrive(rest_of(1500, 12345, 500)).find("not waiting for any"), std::string::npos);
}

TEST_F(ForeignReceivePathTest, RefusesPacketsBeyondTheHighMark) {
  EXPECT_EQ(arrive(message(10)), "");
  EXPECT_EQ(arrive(message(10)), "");
  EXPECT_NE(arrive(message(10)).find("without waiting for acknowledgements"), std::string::npos);
}

TEST_F(ForeignReceivePathTest, AcknowledgesUnexpectedMessagesOnlyWhenAskedTo) {
  EXPECT_EQ(arrive(message(10)), "");
  EXPECT_EQ(arrive(message(10)), "");
  EXPECT_EQ(PathParts::count(parts.host(1)), 0);
  parts.receive_path.take_unexpected();
  parts.sender.flush(parts.link_to_host(1));
  const auto acknowledgement = PathParts::hear(parts.host(1));
  ASSERT_TRUE(acknowledgement);
  EXPECT_EQ(acknowledgement->header.type, PacketType::kProtoAck);
  EXPECT_EQ(arrive(message(10)), "");
}

TEST_F(ReceivePathTest, CancelIsAnsweredAndForgetsTheMessage) {
  EXPECT_EQ(arrive(message(10)), "");
  parts.receive_path.answer_cancel(parts.header(1, 0, PacketType::kCancel), 1);
  EXPECT_EQ(parts.receive_path.queue().unexpected(), 0U);
  parts.receive_path.answer_cancel(parts.header(1, 0, PacketType::kCancel), 1);
  std::vector<PacketType> answers;
  while (const auto packet = PathParts::hear(parts.host(1))) {
    if (packet->header.type != PacketType::kProtoAck) answers.push_back(packet->header.type);
  }
  EXPECT_EQ(answers, (std::vector{PacketType::kCancelYes, PacketType::kCancelNo}));
}

TEST_F(ReceivePathTest, ReliefAcceptsALongMessageBeforeItsMatch) {
  Receive receive(kAnySource, 0, 1500);
  receive.operation.has_native_twin = true;
  parts.receive_path.start(receive.operation);
  PacketHeader first = long_message(1500);
  first.reserved = kMayComeEarly;
  EXPECT_EQ(arrive(first), "");
  EXPECT_EQ(parts.flags.contested.load(), 1U);
  ASSERT_TRUE(parts.receive_path.unanswered());
  EXPECT_EQ(PathParts::count(parts.host(1)), 0);
  parts.receive_path.relieve();
  EXPECT_FALSE(parts.receive_path.unanswered());
  auto answer = PathParts::hear(parts.host(1));
  while (answer && answer->header.type == PacketType::kProtoAck)
    answer = PathParts::hear(parts.host(1));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header.type, PacketType::kSyncAck);
  EXPECT_EQ(arrive(rest_of(1500, answer->header.drqid, 500)), "");
  EXPECT_FALSE(receive.complete());
  parts.receive_path.settle(receive.operation, false);
  EXPECT_TRUE(receive.complete());
  EXPECT_EQ(receive.operation.result.native_bytes, 1500U);
}

TEST_F(ReceivePathTest, AFailureCompletesEveryReceive) {
  Receive posted(1, 1, 10);
  Receive begun(1, 0, 1500);
  parts.receive_path.start(posted.operation);
  parts.receive_path.start(begun.operation);
  EXPECT_EQ(arrive(long_message(1500)), "");
  parts.failure.set({ErrorKind::kConnection, "cut"});
  parts.receive_path.fail(*parts.failure.error());
  Receive late(1, 1, 10);
  parts.receive_path.start(late.operation);
  for (const Receive* receive : {&posted, &begun, &late}) {
    ASSERT_TRUE(receive->complete());
    EXPECT_EQ(receive->operation.result.error->text, "cut");
  }
}

TEST_F(ReceivePathTest, AForgottenContextLeavesNoMessage) {
  EXPECT_EQ(arrive(message(10)), "");
  parts.receive_path.forget_context(0);
  EXPECT_EQ(parts.receive_path.queue().unexpected(), 0U);
  EXPECT_TRUE(parts.receive_path.take(0, kAnySource, kAnyTag).empty());
}

}  // namespace
}  // namespace impishim::wire::test
