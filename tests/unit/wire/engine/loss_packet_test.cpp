// SPDX-License-Identifier: Apache-2.0
// LOST packets that a peer may send.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/unit/wire/engine/raw_peer.hpp"

namespace impishim::wire::test {
namespace {

/// The peer is rank 0, of system 0; the engine is rank 1, of system 1. There is a system 2.
class LossPacketTest : public testing::Test {
 protected:
  LossPacketTest() { peer.engine->survive_losses(true); }
  void say_lost(std::int32_t client) const {
    PacketHeader header = peer.header(PacketType::kLost);
    header.tag = client;
    peer.say(header);
  }
  /// Expects that a neighbour is told of the loss.
  void expect_told(std::int32_t client) {
    const auto answer = peer.hear();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->type, PacketType::kLost);
    EXPECT_EQ(answer->tag, client);
  }
  RawPeer peer;
};

TEST_F(LossPacketTest, NamesAnotherSystem) {
  say_lost(2);
  EXPECT_EQ(peer.failure(), "");
  EXPECT_EQ(peer.engine->lost_clients(), std::vector<std::int32_t>{2});
  expect_told(2);
}

TEST_F(LossPacketTest, MayComeTwice) {
  say_lost(2);
  say_lost(2);
  EXPECT_EQ(peer.failure(), "");
  EXPECT_EQ(peer.engine->lost_count(), 1);
  ASSERT_TRUE(peer.hear());
  EXPECT_FALSE(peer.hear()) << "it is passed on once";
}

TEST_F(LossPacketTest, NamesAnUnknownSystem) {
  say_lost(3);
  EXPECT_NE(peer.failure().find("the loss of system 3, which is not in this job"),
            std::string::npos)
      << peer.failure();
}

TEST_F(LossPacketTest, NamesANegativeNumber) {
  say_lost(-1);
  EXPECT_NE(peer.failure().find("the loss of system -1"), std::string::npos) << peer.failure();
}

TEST_F(LossPacketTest, NamesTheReceiversOwnSystem) {
  say_lost(1);
  EXPECT_NE(peer.failure().find("this system, number 1, is lost"), std::string::npos)
      << peer.failure();
  EXPECT_EQ(peer.engine->failure()->kind, ErrorKind::kLost);
  expect_told(1);  // the others go on
}

TEST_F(LossPacketTest, NamesTheSendersOwnSystem) {
  say_lost(0);
  EXPECT_EQ(peer.failure(), "");
  EXPECT_EQ(peer.engine->lost_clients(), std::vector<std::int32_t>{0});
  peer.say(peer.header(PacketType::kData, 10));
  EXPECT_FALSE(peer.engine->probe(0, kAnySource, kAnyTag)) << "nothing more is read from it";
}

TEST_F(LossPacketTest, EndsTheJobOfOneThatDoesNotGoOn) {
  peer.engine->survive_losses(false);
  say_lost(2);
  EXPECT_NE(peer.failure().find("system 2 is lost"), std::string::npos) << peer.failure();
  const auto answer = peer.hear();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->type, PacketType::kAbort);
}

TEST(ForeignLossPacketTest, IsRefused) {
  const RawPeer peer(
      {.procs_of_hosts = {{1}, {1}, {1}}, .values = {.datalen = 1000}, .foreign = {0}});
  peer.engine->survive_losses(true);
  PacketHeader header = peer.header(PacketType::kLost);
  header.tag = 2;
  peer.say(header);
  EXPECT_NE(peer.failure().find("only systems of this library"), std::string::npos)
      << peer.failure();
}

}  // namespace
}  // namespace impishim::wire::test
