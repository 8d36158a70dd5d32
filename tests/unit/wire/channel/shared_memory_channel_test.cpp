// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"
#include "wire/channel/shared_memory_channel.hpp"

namespace impishim::wire {
namespace {

using test::piece;
using test::random_bytes;
using test::readable;
using test::receive_all;
using test::receive_some;
using test::send_all;
using testing::HasSubstr;

using ChannelPair = std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>;

/// Both ends in this process, each with its own mapping of the rings, as two processes have it.
ChannelPair make_channels() {
  std::array<int, 2> sockets{-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  Descriptor left_fd;
  Descriptor right_fd;
  auto left_in = Ring::create(left_fd);
  auto right_in = Ring::create(right_fd);
  auto left_out = Ring::attach(right_fd);
  auto right_out = Ring::attach(left_fd);
  return {
      std::make_unique<SharedMemoryChannel>(std::move(left_in).value(), std::move(left_out).value(),
                                            Descriptor(sockets[0]), "left's peer"),
      std::make_unique<SharedMemoryChannel>(std::move(right_in).value(),
                                            std::move(right_out).value(), Descriptor(sockets[1]),
                                            "right's peer")};
}

std::size_t try_send(Channel& channel, std::span<const std::byte> bytes) {
  const std::array<iovec, 1> pieces = {piece(bytes)};
  auto sent = channel.try_send(pieces);
  EXPECT_TRUE(sent.ok());
  return sent ? *sent : 0;
}

Result<std::size_t> try_receive(Channel& channel, std::size_t size) {
  std::vector<std::byte> room(size);
  const std::array<iovec, 1> pieces = {piece(room)};
  return channel.try_receive(pieces);
}

TEST(LocalChannel, RingsNoBellForAConsumerThatIsAwake) {
  auto [left, right] = make_channels();
  const auto bytes = random_bytes(100, 1);
  try_send(*left, bytes);
  EXPECT_FALSE(readable(right->descriptor(), 0));
  EXPECT_EQ(*try_receive(*right, 200), 100U);
  EXPECT_FALSE(readable(left->descriptor(), 0));
}

TEST(LocalChannel, WakesASleeperOnce) {
  auto [left, right] = make_channels();
  const auto bytes = random_bytes(100, 2);
  ASSERT_TRUE(right->prepare_to_sleep());
  try_send(*left, bytes);
  try_send(*left, bytes);
  EXPECT_TRUE(readable(right->descriptor(), 0));
  std::array<char, 8> tokens{};
  EXPECT_EQ(recv(right->descriptor(), tokens.data(), tokens.size(), MSG_PEEK | MSG_DONTWAIT), 1);
  right->end_sleep();
  EXPECT_FALSE(readable(right->descriptor(), 0));
  EXPECT_EQ(*try_receive(*right, 300), 200U);
  try_send(*left, bytes);
  EXPECT_FALSE(readable(right->descriptor(), 0)) << "awake again: no bell";
}

TEST(LocalChannel, DoesNotLetItsOwnerSleepOnBytes) {
  auto [left, right] = make_channels();
  try_send(*left, random_bytes(1, 3));
  EXPECT_FALSE(right->prepare_to_sleep());
  right->end_sleep();
  EXPECT_EQ(*try_receive(*right, 1), 1U);
  EXPECT_TRUE(right->prepare_to_sleep());
}

TEST(LocalChannel, AnnouncesRoomToAProducerThatWants) {
  auto [left, right] = make_channels();
  const auto bytes = random_bytes(kRingCapacity, 4);
  EXPECT_EQ(try_send(*left, bytes), kRingCapacity);
  EXPECT_EQ(try_send(*left, bytes), 0U);
  EXPECT_FALSE(left->set_want_output(true));
  ASSERT_TRUE(left->prepare_to_sleep());
  EXPECT_FALSE(readable(left->descriptor(), 0));
  EXPECT_EQ(*try_receive(*right, 10), 10U);
  EXPECT_TRUE(readable(left->descriptor(), 0));
  left->end_sleep();
  EXPECT_EQ(try_send(*left, bytes), 10U);
}

TEST(LocalChannel, AnnouncesNoRoomToAProducerThatDoesNotWant) {
  auto [left, right] = make_channels();
  EXPECT_EQ(try_send(*left, random_bytes(kRingCapacity, 5)), kRingCapacity);
  left->set_want_output(true);
  left->set_want_output(false);
  ASSERT_TRUE(left->prepare_to_sleep());
  EXPECT_EQ(*try_receive(*right, 10), 10U);
  EXPECT_FALSE(readable(left->descriptor(), 0));
}

/// The consumer empties the ring between the producer's short send and its wish for room: nobody
/// would ring any more.
TEST(LocalChannel, DoesNotLetAProducerSleepOnRoom) {
  auto [left, right] = make_channels();
  EXPECT_EQ(try_send(*left, random_bytes(kRingCapacity + 1, 6)), kRingCapacity);
  EXPECT_EQ(*try_receive(*right, kRingCapacity), kRingCapacity);
  left->set_want_output(true);
  EXPECT_FALSE(left->prepare_to_sleep());
}

TEST(LocalChannel, GivesTheBytesBeforeTheEnd) {
  auto [left, right] = make_channels();
  const auto bytes = random_bytes(1000, 7);
  try_send(*left, bytes);
  left.reset();
  std::vector<std::byte> got(bytes.size());
  ASSERT_TRUE(receive_all(*right, got).ok());
  EXPECT_EQ(got, bytes);
  auto ended = receive_some(*right, got);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().kind, ErrorKind::kConnection);
  EXPECT_THAT(ended.error().text, HasSubstr("process has ended"));
  const std::array<iovec, 1> pieces = {piece(bytes)};
  EXPECT_FALSE(right->try_send(pieces).ok());
  EXPECT_FALSE(right->prepare_to_sleep());
}

TEST(LocalChannel, CanStillSendAfterThePeersLastByte) {
  auto [left, right] = make_channels();
  try_send(*left, random_bytes(10, 8));
  left->shutdown_output();
  std::vector<std::byte> got(10);
  ASSERT_TRUE(receive_all(*right, got).ok());
  auto ended = receive_some(*right, got);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().text, "end of stream");
  EXPECT_EQ(try_send(*right, random_bytes(10, 9)), 10U);
  EXPECT_TRUE(receive_all(*left, got).ok());
}

/// An owner that polls and never sleeps finds out, too.
TEST(LocalChannel, TellsAPollingOwnerOfTheEnd) {
  auto [left, right] = make_channels();
  left.reset();
  bool ended = false;
  for (int i = 0; i < 100000 && !ended; ++i) ended = !try_receive(*right, 10).ok();
  EXPECT_TRUE(ended);
}

TEST(LocalChannel, TellsASenderOfTheEndByTheBell) {
  auto [left, right] = make_channels();
  ASSERT_TRUE(right->prepare_to_sleep());
  right.reset();
  const auto bytes = random_bytes(10, 10);
  try_send(*left, bytes);
  const std::array<iovec, 1> pieces = {piece(bytes)};
  EXPECT_FALSE(left->try_send(pieces).ok());
}

TEST(LocalChannel, NamesItsPeer) {
  auto [left, right] = make_channels();
  EXPECT_EQ(left->peer_name(), "left's peer");
  EXPECT_EQ(right->peer_name(), "right's peer");
}

TEST(LocalChannel, LosesNoWakeUp) {
  auto [left, right] = make_channels();
  const auto result = test::echo_rounds(*left, *right, 20000);
  EXPECT_TRUE(result.ok()) << result.error().text;
}

TEST(LocalChannel, CarriesAStreamThatFillsIt) {
  auto [left, right] = make_channels();
  const auto result = test::stream_that_fills(*left, *right);
  EXPECT_TRUE(result.ok()) << result.error().text;
}

TEST(LocalChannel, APollingThreadLeavesASleeperItsWakeUp) {
  auto [left, right] = make_channels();
  EXPECT_TRUE(test::wakes_a_sleeper_beside_a_poller(*left, *right));
}

}  // namespace
}  // namespace impishim::wire
