// SPDX-License-Identifier: Apache-2.0
// Channels over libfabric, by each provider that every machine with libfabric has: one that wakes
// by a descriptor, one by words.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>
#include <thread>

#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/fabric/fabric_support.hpp"
#include "wire/fabric/fabric_channel.hpp"
#include "wire/fabric/fabric_endpoint.hpp"
#include "wire/fabric/fabric_offer.hpp"

namespace impishim::wire {
namespace {

using test::piece;
using test::random_bytes;
using test::receive_all;
using test::receive_some;
using test::send_all;

class FabricChannels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::tie(left, right) = test::fabric_pair(GetParam());
    ASSERT_TRUE(left && right);
  }

  static std::size_t try_send(Channel& channel, std::span<const std::byte> bytes) {
    const std::array<iovec, 1> pieces = {piece(bytes)};
    auto sent = channel.try_send(pieces);
    EXPECT_TRUE(sent.ok()) << sent.error().text;
    return sent ? *sent : 0;
  }

  /// Sends until the channel takes no more.
  static std::size_t fill(Channel& channel) {
    const auto bytes = random_bytes(1U << 20U, 3);
    std::size_t total = 0;
    for (std::size_t sent = 1; sent > 0; total += sent) sent = try_send(channel, bytes);
    return total;
  }

  std::unique_ptr<Channel> left;
  std::unique_ptr<Channel> right;
};

INSTANTIATE_TEST_SUITE_P(Providers, FabricChannels, testing::Values("tcp", "shm"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(FabricChannels, NamesItsPeer) {
  EXPECT_EQ(left->peer_name(), "left's peer");
  EXPECT_EQ(right->peer_name(), "right's peer");
}

TEST_P(FabricChannels, KeepsOrderOverManyPiecesAndSizes) {
  std::mt19937 random(5);
  std::vector<std::byte> there;
  std::vector<std::byte> back;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const auto first = random_bytes(random() % 3000, i);
    const auto second = random_bytes(random() % 40, i + 1000);
    const std::array<iovec, 3> pieces = {piece(first), piece({}), piece(second)};
    auto sent = left->try_send(pieces);
    ASSERT_TRUE(sent.ok());
    if (*sent == 0) {  // credits are in progress
      ASSERT_TRUE(test::send_all(*left, first).ok());
      ASSERT_TRUE(test::send_all(*left, second).ok());
      sent = first.size() + second.size();
    }
    ASSERT_EQ(*sent, first.size() + second.size());
    there.insert(there.end(), first.begin(), first.end());
    there.insert(there.end(), second.begin(), second.end());
    std::vector<std::byte> got(*sent);
    ASSERT_TRUE(receive_all(*right, got).ok());
    back.insert(back.end(), got.begin(), got.end());
  }
  EXPECT_TRUE(there == back);
}

TEST_P(FabricChannels, FillsAndAnnouncesRoom) {
  std::vector<std::byte> got(fill(*left));
  EXPECT_GT(got.size(), 100000U);
  Result<void> received;
  std::thread reader([&, &far = *right] { received = receive_all(far, got); });
  EXPECT_TRUE(send_all(*left, random_bytes(10, 1)).ok());
  reader.join();
  EXPECT_TRUE(received.ok());
}

/// Each end has buffers for all that the other may send.
TEST_P(FabricChannels, MayBeFullBothWays) {
  std::vector<std::byte> there(fill(*left));
  std::vector<std::byte> here(fill(*right));
  EXPECT_EQ(there.size(), here.size());
  Result<void> received;
  std::thread reader([&, &far = *right] { received = receive_all(far, there); });
  EXPECT_TRUE(receive_all(*left, here).ok());
  reader.join();
  EXPECT_TRUE(received.ok());
}

TEST_P(FabricChannels, DoesNotLetItsOwnerSleepOnBytes) {
  try_send(*left, random_bytes(1, 3));
  // On the way for a while, but never so that the owner sleeps on.
  ASSERT_TRUE(test::sleep_on(*right));
  std::array<std::byte, 1> got;
  EXPECT_TRUE(receive_all(*right, got).ok());
}

TEST_P(FabricChannels, LosesNoWakeUp) {
  const auto result = test::echo_rounds(*left, *right, 2000);
  EXPECT_TRUE(result.ok()) << result.error().text;
}

TEST_P(FabricChannels, CarriesAStreamThatFillsIt) {
  const auto result = test::stream_that_fills(*left, *right);
  EXPECT_TRUE(result.ok()) << result.error().text;
}

TEST_P(FabricChannels, APollingThreadLeavesASleeperItsWakeUp) {
  EXPECT_TRUE(test::wakes_a_sleeper_beside_a_poller(*left, *right));
}

TEST_P(FabricChannels, CanStillSendAfterThePeersLastByte) {
  ASSERT_TRUE(send_all(*left, random_bytes(10, 8)).ok());
  left->shutdown_output();
  std::vector<std::byte> got(10);
  ASSERT_TRUE(receive_all(*right, got).ok());
  auto ended = receive_some(*right, got);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().kind, ErrorKind::kConnection);
  EXPECT_EQ(ended.error().text, "end of stream");
  ASSERT_TRUE(send_all(*right, random_bytes(10, 9)).ok());
  EXPECT_TRUE(receive_all(*left, got).ok());
}

/// The peer's end of the guarding socket closes, as it does when its process is killed.
TEST_P(FabricChannels, TellsOfThePeersDeath) {
  auto [near, far] = test::guard_pair(GetParam());
  const Descriptor kept(dup(far.get()));
  auto [mine, other] = test::meet(GetParam(), test::one_link(std::move(near), "near"), GetParam(),
                                  test::one_link(std::move(far), "far"));
  ASSERT_TRUE(mine.ok() && other.ok());
  Channel& survivor = *mine->front();
  shutdown(kept.get(), SHUT_RDWR);
  std::array<std::byte, 1> room;
  auto ended = receive_some(survivor, room);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().kind, ErrorKind::kConnection);
  EXPECT_EQ(ended.error().text, "the process has ended");
  const std::array<iovec, 1> pieces = {piece(room)};
  EXPECT_FALSE(survivor.try_send(pieces).ok());
  EXPECT_FALSE(survivor.prepare_to_sleep());
}

/// An owner that polls and never sleeps finds out, too.
TEST_P(FabricChannels, TellsAPollingOwnerOfTheEnd) {
  left.reset();
  const std::array<iovec, 0> nothing{};
  while (right->try_receive(nothing).ok()) {
  }
  SUCCEED();
}

TEST_P(FabricChannels, OneEndpointServesSeveralPeers) {
  constexpr std::size_t kPeers = 3;
  std::vector<FabricLink> near;
  std::vector<FabricLink> far;
  for (std::size_t i = 0; i < kPeers; ++i) {
    auto [one, two] = test::guard_pair(GetParam());
    near.push_back({std::move(one), "near"});
    far.push_back({std::move(two), "far"});
  }
  auto [mine, other] = test::meet(GetParam(), std::move(near), GetParam(), std::move(far));
  ASSERT_TRUE(mine.ok()) << mine.error().text;
  ASSERT_TRUE(other.ok()) << other.error().text;
  // Bytes for the last channel arrive while another one is asked to sleep: none may.
  std::array<std::byte, 3> got;
  for (std::size_t i = 0; i < kPeers; ++i)
    ASSERT_TRUE(send_all(*(*mine)[i], random_bytes(3, 50 + static_cast<std::uint32_t>(i))).ok());
  for (std::size_t i = kPeers; i-- > 0;) {
    ASSERT_TRUE(receive_all(*(*other)[i], got).ok());
    EXPECT_THAT(got,
                testing::ElementsAreArray(random_bytes(3, 50 + static_cast<std::uint32_t>(i))));
  }
}

/// A channel whose peer is the test: it sends what headers it likes from an endpoint of its own.
class ChannelToTheTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kSecret = 7;

  void SetUp() override {
    auto mine = FabricEndpoint::open("tcp", "127.0.0.1", 1);
    auto other = FabricEndpoint::open("tcp", "127.0.0.1", 1);
    ASSERT_TRUE(mine.ok() && other.ok());
    mine_ = *mine;
    other_ = *other;
    channel_ = std::make_unique<FabricChannel>(mine_, 0, kSecret, "the peer");
    FabricOffer offer;
    offer.message_size = FabricEndpoint::kMessageSize;
    offer.credits = 1;
    offer.address = other_->address();
    ASSERT_TRUE(channel_->lead_to(offer).ok());
    auto to = other_->insert(mine_->address());
    ASSERT_TRUE(to.ok());
    to_ = *to;
  }
  void TearDown() override { channel_.reset(); }

  /// Drives both endpoints. Returns false when the test has lasted for too long.
  bool drive() {
    mine_->drive();
    other_->drive();
    return std::chrono::steady_clock::now() < late_;
  }
  void say(const FabricHeader& header) {
    std::array<std::byte, FabricHeader::kSize> bytes;
    header.encode(bytes.data());
    for (bool sent = false; !sent;) {
      auto taken = other_->inject(to_, bytes);
      ASSERT_TRUE(taken.ok() && drive());
      sent = *taken;
    }
  }
  /// Drives until the greetings have passed, or the channel fails.
  Result<void> meet() {
    for (;;) {
      if (auto greeted = channel_->greet(); !greeted) return greeted.error();
      auto reached = channel_->reached();
      if (!reached) return reached.error();
      if (*reached) return {};
      if (!drive()) return Error{ErrorKind::kTimeout, "no greeting"};
    }
  }

  std::shared_ptr<FabricEndpoint> mine_;
  std::shared_ptr<FabricEndpoint> other_;
  std::unique_ptr<FabricChannel> channel_;
  fi_addr_t to_ = FI_ADDR_UNSPEC;
  const std::chrono::steady_clock::time_point late_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(test::kLongMs);
};

/// A process that is no peer sends to an endpoint: the channel goes on as if it had not.
TEST_F(ChannelToTheTest, AMessageWithoutTheChannelsSecretEndsNothing) {
  // The stranger's message comes first: messages of one endpoint keep their order.
  say({0, kSecret + 1, 0, 0, FabricHeader::Kind::kHello});
  say({0, kSecret, 0, 0, FabricHeader::Kind::kHello});
  const auto met = meet();
  EXPECT_TRUE(met.ok()) << met.error().text;
}

/// A peer that returned more credits than were used would be sent more than it has buffers for.
TEST_F(ChannelToTheTest, CreditsThatWereNotUsedAreRefused) {
  say({0, kSecret, 0, 1, FabricHeader::Kind::kHello});
  const auto met = meet();
  ASSERT_FALSE(met.ok());
  EXPECT_EQ(met.error().kind, ErrorKind::kProtocol);
  EXPECT_THAT(met.error().text,
              testing::HasSubstr("the peer returned 1 credits where 0 were in use"));
}

/// Only by tcp: endpoints of shm in one process share memory that ends with the first of them.
TEST(FabricChannelEnd, ComesAfterTheBytes) {
  auto [left, right] = test::fabric_pair("tcp");
  ASSERT_TRUE(left && right);
  const auto bytes = random_bytes(100000, 7);
  const std::array<iovec, 1> pieces = {piece(bytes)};
  ASSERT_EQ(*left->try_send(pieces), bytes.size());
  std::vector<std::byte> got(bytes.size());
  std::thread reader([&, &far = *right] {
    EXPECT_TRUE(receive_all(far, got).ok());
    std::array<std::byte, 1> more;
    auto ended = receive_some(far, more);
    ASSERT_FALSE(ended.ok());
    EXPECT_EQ(ended.error().kind, ErrorKind::kConnection);
  });
  left.reset();
  reader.join();
  EXPECT_TRUE(got == bytes);
}

}  // namespace
}  // namespace impishim::wire
