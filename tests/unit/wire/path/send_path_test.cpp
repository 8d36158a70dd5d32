// SPDX-License-Identifier: Apache-2.0
#include "wire/path/send_path.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/wire/path/path_parts.hpp"

namespace impishim::wire::test {
namespace {

const JobShape kTwoSystems{.procs_of_hosts = {{1}, {1}}, .values = {.datalen = 1000}};
/// Systems of other implementations count packets of any size.
const JobShape kForeignPeer{.procs_of_hosts = {{1}, {1}},
                            .values = {.datalen = 1000, .ackmark = 1, .hiwater = 2},
                            .foreign = {1}};

PacketHeader answer(const PathParts& parts, PacketType type, std::uint64_t request) {
  PacketHeader made = parts.header(1, 0, type);
  made.srqid = request;
  made.drqid = 42;
  return made;
}

TEST(SendPath, AShortMessageLeavesAtOnceAndIsComplete) {
  PathParts parts(kTwoSystems);
  PathSend send(1, 100);
  parts.send_path.start(send.operation);
  EXPECT_TRUE(send.operation.complete());
  EXPECT_EQ(parts.send_path.pending(), 0U);
  const auto packet = PathParts::hear(parts.host(1));
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->header.type, PacketType::kData);
  EXPECT_EQ(packet->header.msglen, 100U);
  EXPECT_EQ(packet->payload, send.data);
}

TEST(SendPath, MessagesBehindTheFirstFourOfABurstAreBatched) {
  PathParts parts(kTwoSystems);
  const std::array<std::byte, 8> bytes{};
  const auto burst = [&](int messages) {
    for (int i = 0; i < messages; ++i)
      EXPECT_TRUE(parts.send_path.send_short({.destination = 1, .bytes = bytes}));
  };
  burst(6);
  EXPECT_EQ(PathParts::count(parts.host(1)), 4);
  EXPECT_TRUE(parts.batches_wait.load());
  parts.sender.flush_batches();
  EXPECT_EQ(PathParts::count(parts.host(1)), 2);
  EXPECT_FALSE(parts.batches_wait.load());
  // After a long burst, only the first message of the next one is sent alone.
  parts.send_path.poll_begins();
  burst(6);
  EXPECT_EQ(PathParts::count(parts.host(1)), 1);
  parts.sender.flush_batches();
  // After a short one, four again.
  parts.send_path.poll_begins();
  burst(2);
  parts.send_path.poll_begins();
  parts.sender.flush_batches();
  EXPECT_EQ(PathParts::count(parts.host(1)), 7);
  burst(6);
  EXPECT_EQ(PathParts::count(parts.host(1)), 4);
}

TEST(SendPath, ALongMessageStreamsAfterItsSyncAck) {
  PathParts parts(kTwoSystems);
  PathSend send(1, 2500);
  parts.send_path.start(send.operation);
  const auto first = PathParts::hear(parts.host(1));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->header.type, PacketType::kDataSync);
  EXPECT_EQ(first->header.len, 1000U);
  EXPECT_EQ(PathParts::count(parts.host(1)), 0);
  EXPECT_EQ(parts.send_path.awaiting_answer(), 1U);
  EXPECT_TRUE(parts.send_path.needs(parts.link_to_host(1)));
  ASSERT_TRUE(
      parts.send_path.sync_acknowledged(answer(parts, PacketType::kSyncAck, first->header.srqid), 1)
          .ok());
  std::vector<std::byte> received = first->payload;
  for (int i = 0; i < 2; ++i) {
    const auto rest = PathParts::hear(parts.host(1));
    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->header.drqid, 42U);
    received.insert(received.end(), rest->payload.begin(), rest->payload.end());
  }
  EXPECT_EQ(received, send.data);
  EXPECT_TRUE(send.operation.complete());
  EXPECT_FALSE(parts.send_path.needs(parts.link_to_host(1)));
}

TEST(SendPath, FlowControlHoldsMessagesAndReleasesThemInOrder) {
  PathParts parts(kForeignPeer);
  std::vector<std::unique_ptr<PathSend>> sends;
  for (std::size_t size = 1; size <= 4; ++size) {
    sends.push_back(std::make_unique<PathSend>(1, size));
    parts.send_path.start(sends.back()->operation);
  }
  EXPECT_EQ(PathParts::count(parts.host(1)), 2);
  EXPECT_EQ(parts.send_path.pending(), 2U);
  for (const std::uint32_t size : {3U, 4U}) {
    ASSERT_TRUE(parts.send_path.protocol_acknowledged(parts.peers.peer(1)).ok());
    const auto packet = PathParts::hear(parts.host(1));
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->header.len, size);
  }
  EXPECT_EQ(parts.send_path.pending(), 0U);
}

TEST(SendPath, RefusesAcknowledgementsOfWhatWasNotSent) {
  PathParts parts(kForeignPeer);
  const auto refused = parts.send_path.protocol_acknowledged(parts.peers.peer(1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kProtocol);
  const auto unknown = parts.send_path.sync_acknowledged(answer(parts, PacketType::kSyncAck, 9), 1);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().text.find("which awaits none"), std::string::npos);
}

TEST(SendPath, RefusesASyncAckOfAnotherProcess) {
  PathParts parts({.procs_of_hosts = {{1}, {1}, {1}}, .values = {.datalen = 1000}});
  PathSend send(1, 2500);
  parts.send_path.start(send.operation);
  const auto first = PathParts::hear(parts.host(1));
  ASSERT_TRUE(first);
  const auto refused = parts.send_path.sync_acknowledged(
      answer(parts, PacketType::kSyncAck, first->header.srqid), 2);
  ASSERT_FALSE(refused.ok());
  EXPECT_FALSE(send.operation.complete());
}

TEST(SendPath, CancelsASendThatThePeerHasNotMatched) {
  PathParts parts(kTwoSystems);
  PathSend send(1, 10, SendMode::kSynchronous);
  parts.send_path.start(send.operation);
  parts.send_path.cancel(send.operation);
  const auto message = PathParts::hear(parts.host(1));
  const auto question = PathParts::hear(parts.host(1));
  ASSERT_TRUE(message && question);
  EXPECT_EQ(question->header.type, PacketType::kCancel);
  EXPECT_EQ(question->header.srqid, message->header.srqid);
  const PacketHeader yes = answer(parts, PacketType::kCancelYes, message->header.srqid);
  ASSERT_TRUE(parts.send_path.cancel_answered(yes, 1).ok());
  EXPECT_TRUE(send.operation.complete());
  EXPECT_TRUE(send.operation.result.cancelled);
  EXPECT_FALSE(parts.send_path.cancel_answered(yes, 1).ok()) << "an answer counts once";
}

TEST(SendPath, AFailureCompletesEverySend) {
  PathParts parts(kForeignPeer);
  std::vector<std::unique_ptr<PathSend>> sends;
  for (int i = 0; i < 4; ++i) {
    sends.push_back(std::make_unique<PathSend>(1, 2500));
    parts.send_path.start(sends.back()->operation);
  }
  EXPECT_EQ(parts.send_path.pending(), 4U);
  parts.failure.set({ErrorKind::kConnection, "cut"});
  parts.send_path.fail(*parts.failure.error());
  EXPECT_EQ(parts.send_path.pending(), 0U);
  for (const auto& send : sends) {
    ASSERT_TRUE(send->operation.complete());
    EXPECT_EQ(send->operation.result.error->text, "cut");
  }
  PathSend late(1, 1);
  parts.send_path.start(late.operation);
  ASSERT_TRUE(late.operation.complete());
  EXPECT_TRUE(late.operation.result.error.has_value());
  EXPECT_FALSE(parts.send_path.send_short({.destination = 1, .bytes = {}}));
}

TEST(SendPath, ReportsALinkThatCannotBeWritten) {
  PathParts parts(kTwoSystems);
  parts.host(1).cut();
  PathSend send(1, 2500);
  parts.send_path.start(send.operation);
  EXPECT_EQ(parts.failures.size(), 1U);
  ASSERT_TRUE(send.operation.complete());
  EXPECT_TRUE(send.operation.result.error.has_value());
}

}  // namespace
}  // namespace impishim::wire::test
