// SPDX-License-Identifier: Apache-2.0
// What IMPI does not allow ends the job with a text that names the peer, whatever a peer sends;
// what IMPI leaves open is ignored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/wire/engine/raw_peer.hpp"

namespace impishim::wire {
namespace {

using test::RawPeer;
using testing::HasSubstr;

struct Lie {
  std::string name;
  std::function<void(const RawPeer&)> tell;
  std::string complaint;
};

PacketHeader message(const RawPeer& peer, std::uint32_t len) {
  return peer.header(PacketType::kData, len);
}

const std::vector<Lie>& lies() {
  static const std::vector<Lie> all = {
      {"UnknownType",
       [](const RawPeer& peer) { peer.say(peer.header(static_cast<PacketType>(8))); }, "type"},
      {"PayloadAboveTheNegotiatedLength",
       [](const RawPeer& peer) {
         auto header = message(peer, 1001);
         header.type = PacketType::kDataSync;
         header.msglen = 5000;
         peer.say(header);
       },
       "1001"},
      {"PayloadLongerThanItsMessage",
       [](const RawPeer& peer) {
         auto header = message(peer, 100);
         header.msglen = 50;
         peer.say(header);
       },
       "50"},
      {"FirstPacketShorterThanItMustBe",
       [](const RawPeer& peer) {
         auto header = message(peer, 100);
         header.type = PacketType::kDataSync;
         header.msglen = 5000;
         peer.say(header);
       },
       "100 of 5000"},
      {"SourceUnknown",
       [](const RawPeer& peer) {
         auto header = message(peer, 0);
         header.src.pid = 4711;
         peer.say(header);
       },
       "not in this job"},
      {"SourceOfAnotherHost",
       [](const RawPeer& peer) {
         auto header = message(peer, 0);
         header.src = peer.id_of(2);
         peer.say(header);
       },
       "claims to come from rank 2"},
      {"SourceIsTheReceiver",
       [](const RawPeer& peer) {
         auto header = message(peer, 0);
         header.src = peer.id_of(1);
         peer.say(header);
       },
       "claims to come from rank 1"},
      {"DestinationUnknown",
       [](const RawPeer& peer) {
         auto header = message(peer, 0);
         header.dest.host[0] = std::byte{9};
         peer.say(header);
       },
       "not in this job"},
      {"DestinationIsTheSender",
       [](const RawPeer& peer) {
         auto header = message(peer, 10);
         header.dest = peer.id_of(0);
         peer.say(header);
       },
       "not to be reached here"},
      {"NegativeTag",
       [](const RawPeer& peer) {
         auto header = message(peer, 0);
         header.tag = -1;
         peer.say(header);
       },
       "tag -1"},
      {"NegativeRank",
       [](const RawPeer& peer) {
         auto header = message(peer, 0);
         header.lsrank = -5;
         peer.say(header);
       },
       "rank -5"},
      {"AcknowledgementOfNothing",
       [](const RawPeer& peer) { peer.say(peer.header(PacketType::kProtoAck)); }, "never sent"},
      {"RelayedWhatWasNeverSent",
       [](const RawPeer& peer) {
         auto header = peer.header(PacketType::kRelayAck);
         header.msglen = 5000;
         peer.say(header);
       },
       "5000 bytes relayed that were never sent"},
      {"RelayedNothing", [](const RawPeer& peer) { peer.say(peer.header(PacketType::kRelayAck)); },
       "never sent"},
      {"MorePacketsThanHiwater",
       [](const RawPeer& peer) {
         for (int i = 0; i < 21; ++i) peer.say(message(peer, 1000));
       },
       "without waiting"},
      {"RestOfNoMessage",
       [](const RawPeer& peer) {
         auto header = message(peer, 1000);
         header.msglen = 5000;
         header.drqid = 12345;
         peer.say(header);
       },
       "not waiting"},
  };
  return all;
}

class LyingPeer : public testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Lies, LyingPeer, testing::Range<std::size_t>(0, lies().size()),
                         [](const auto& info) { return lies()[info.param].name; });

TEST_P(LyingPeer, EndsTheJobByName) {
  const Lie& lie = lies()[GetParam()];
  const RawPeer peer;
  test::Receive pending(5, 5, 10);
  peer.engine->start(pending.operation);
  lie.tell(peer);
  ASSERT_NE(peer.engine->failure(), nullptr);
  EXPECT_EQ(peer.engine->failure()->kind, ErrorKind::kProtocol);
  EXPECT_THAT(peer.failure(), HasSubstr("broke the IMPI protocol"));
  EXPECT_THAT(peer.failure(), HasSubstr(lie.complaint));
  // Everything that waited is told, and whatever starts now is told at once.
  ASSERT_TRUE(pending.complete());
  EXPECT_TRUE(pending.operation.result.error);
  test::Receive later(5, 5, 10);
  peer.engine->start(later.operation);
  ASSERT_TRUE(later.complete());
  EXPECT_TRUE(later.operation.result.error);
}

TEST(LyingPeer, SendsMoreThanItsMessage) {
  const RawPeer peer;
  test::Receive receive(0, 0, 5000);
  peer.engine->start(receive.operation);
  auto header = message(peer, 1000);
  header.type = PacketType::kDataSync;
  header.msglen = 1500;
  peer.say(header);
  const auto answer = peer.hear();
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->type, PacketType::kSyncAck);
  EXPECT_EQ(answer->srqid, 77U);
  header.type = PacketType::kData;
  header.drqid = answer->drqid;
  header.len = 501;
  peer.say(header);
  ASSERT_NE(peer.engine->failure(), nullptr);
  EXPECT_THAT(peer.failure(), HasSubstr("1500"));
}

TEST(OpenPoints, QuestionsAboutForgottenRequestsAreAnswered) {
  const RawPeer peer;
  peer.say(peer.header(PacketType::kCancel));
  const auto answer = peer.hear();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->type, PacketType::kCancelNo);
  EXPECT_EQ(answer->srqid, 77U);
}

/// As LAM fills them in its header-only packets.
TEST(OpenPoints, UnusedFieldsAreIgnored) {
  const RawPeer peer;
  SendOperation send;
  send.source_rank = 1;
  send.mode = SendMode::kSynchronous;
  send.buffer = {nullptr, 0, &TypeLayout::basic(BasicType::kByte)};
  peer.engine->start(send);
  for (const PacketType type : {PacketType::kSyncAck, PacketType::kCancel, PacketType::kFini}) {
    auto header = peer.header(type);
    if (type == PacketType::kSyncAck) header.srqid = peer.hear()->srqid;
    header.len = 128;
    header.msglen = 128;
    header.lsrank = header.tag = -1;
    header.count = ~std::uint64_t{0};
    header.cid = 0xdeadbeef;
    peer.say(header);
    EXPECT_EQ(peer.engine->failure(), nullptr);
  }
  EXPECT_TRUE(send.complete());
}

/// Garbage of any kind ends in an error, never in a crash or an endless loop (run under ASan as
/// well).
TEST(Garbage, IsSurvived) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const RawPeer peer;
    test::Receive receive(kAnySource, kAnyTag, 3000);
    peer.engine->start(receive.operation);
    for (int i = 0; i < 30 && peer.engine->failure() == nullptr; ++i) {
      PacketHeader header = peer.header(static_cast<PacketType>(random() % 8), 0);
      const std::uint64_t lengths[] = {0, 1, 500, 999, 1000, 1001, 5000, ~std::uint64_t{0}};
      header.len = static_cast<std::uint32_t>(lengths[random() % 5]);
      header.msglen = lengths[random() % 8];
      header.drqid = random() % 4;
      header.tag = static_cast<std::int32_t>(random() % 3);
      header.cid = random() % 2;
      std::vector<std::byte> bytes(kPacketHeaderSize + header.payload_size());
      encode_packet_header(header, std::span(bytes).first<kPacketHeaderSize>());
      // Now and then a few bytes of any value.
      for (auto n = random() % 4; n > 0 && random() % 3 == 0; --n)
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      peer.say_bytes(bytes);
      peer.engine->poll(random() % 2 == 0);
    }
  }
}

}  // namespace
}  // namespace impishim::wire
