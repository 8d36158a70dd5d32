// SPDX-License-Identifier: Apache-2.0
#include "wire/resume/resumable_channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "wire/channel/tcp_channel.hpp"
#include "wire/resume/connection_slot.hpp"

namespace impishim::wire {
namespace {

using test::connected_pair;
using test::piece;
using test::random_bytes;
using test::readable;
using test::receive_all;
using test::send_all;
using testing::HasSubstr;

using Pair = std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>;

/// Two ends of a stream whose connections are sockets that the test cuts and replaces.
class ResumableChannelTest : public testing::Test {
 protected:
  ResumableChannelTest() {
    wake = WakeEvent::make().value();
    near_slot = ConnectionSlot::make(wake).value();
    far_slot = ConnectionSlot::make(wake).value();
    Pair first = connect();
    near = ResumableChannel::make(std::move(first.first), near_slot, {.kept = kBound}).value();
    far = ResumableChannel::make(std::move(first.second), far_slot, {.kept = kBound}).value();
  }

  static constexpr std::size_t kBound = 4U << 20U;

  /// Makes a connection, and keeps duplicates of its sockets for cut().
  Pair connect() {
    auto [left, right] = connected_pair("127.0.0.1");
    sockets = {Descriptor(dup(left.get())), Descriptor(dup(right.get()))};
    return {std::make_unique<TcpChannel>(std::move(left), "far"),
            std::make_unique<TcpChannel>(std::move(right), "near")};
  }

  /// Resets the connection: what is on its way is lost.
  void cut() {
    const linger reset{1, 0};
    for (Descriptor& socket : sockets) {
      setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
      shutdown(socket.get(), SHUT_RDWR);
      socket.reset();
    }
  }

  void reconnect() {
    Pair next = connect();
    near_slot->deliver(std::move(next.first));
    far_slot->deliver(std::move(next.second));
  }

  std::array<Descriptor, 2> sockets;
  std::shared_ptr<WakeEvent> wake;
  std::shared_ptr<ConnectionSlot> near_slot;
  std::shared_ptr<ConnectionSlot> far_slot;
  std::unique_ptr<Channel> near;
  std::unique_ptr<Channel> far;
};

TEST_F(ResumableChannelTest, CarriesALongStreamWithSleeps) {
  const auto streamed = test::stream_that_fills(*near, *far);
  EXPECT_TRUE(streamed.ok()) << streamed.error().text;
}

TEST_F(ResumableChannelTest, EchoesWithASleepBeforeEachMessage) {
  const auto echoed = test::echo_rounds(*near, *far, 2000);
  EXPECT_TRUE(echoed.ok()) << echoed.error().text;
}

TEST_F(ResumableChannelTest, WakesASleeperBesideAPoller) {
  EXPECT_TRUE(test::wakes_a_sleeper_beside_a_poller(*near, *far));
}

TEST_F(ResumableChannelTest, SendsAgainWhatACutHasLost) {
  const auto bytes = random_bytes(3U << 20U, 21);
  const iovec one = piece(std::span<const std::byte>(bytes));
  auto taken = near->try_send(std::span(&one, 1));
  // The peer's kResume may not have arrived.
  for (int i = 0; taken.ok() && *taken == 0 && i < 1000; ++i) {
    std::array<std::byte, 1> none{};
    const iovec room = piece(std::span(none));
    ASSERT_TRUE(far->try_receive(std::span(&room, 1)).ok());
    ASSERT_EQ(*near->try_receive(std::span(&room, 1)), 0U);
    taken = near->try_send(std::span(&one, 1));
  }
  ASSERT_TRUE(taken.ok());
  ASSERT_GT(*taken, 100000U);
  std::vector<std::byte> got(*taken);
  ASSERT_TRUE(receive_all(*far, std::span(got).first(70001)).ok());
  cut();
  // The kernel still has bytes that had arrived; what was on its way is lost.
  std::size_t arrived = 70001;
  for (std::size_t more = 1; more > 0; arrived += more) {
    const iovec rest = piece(std::span(got).subspan(arrived));
    more = far->try_receive(std::span(&rest, 1)).value();
  }
  ASSERT_LT(arrived, *taken);
  const iovec rest = piece(std::span(got).subspan(arrived));
  EXPECT_EQ(*near->try_receive(std::span(&rest, 1)), 0U);
  EXPECT_EQ(*near->try_send(std::span(&one, 1)), 0U);
  EXPECT_TRUE(far_slot->take_loss().has_value());
  EXPECT_TRUE(near_slot->take_loss().has_value());
  EXPECT_TRUE(readable(wake->descriptor(), 0));
  reconnect();
  EXPECT_TRUE(readable(near->descriptor(), 0)) << "a new connection wakes a sleeper";
  std::thread sender([&] {
    std::array<std::byte, 1> answer{};
    EXPECT_TRUE(receive_all(*near, answer).ok());
  });
  EXPECT_TRUE(receive_all(*far, std::span(got).subspan(arrived)).ok());
  EXPECT_TRUE(send_all(*far, std::array{std::byte{1}}).ok());
  sender.join();
  EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin()));
}

/// One end has noticed nothing when the other one comes with a new connection.
TEST_F(ResumableChannelTest, TakesANewConnectionBeforeTheOldOneIsLost) {
  const auto bytes = random_bytes(100000, 22);
  ASSERT_TRUE(test::echo_rounds(*near, *far, 1).ok());
  ASSERT_TRUE(send_all(*near, bytes).ok());
  reconnect();
  std::thread sender([&] {
    std::array<std::byte, 1> answer{};
    EXPECT_TRUE(receive_all(*near, answer).ok());
  });
  std::vector<std::byte> got(bytes.size());
  EXPECT_TRUE(receive_all(*far, got).ok());
  EXPECT_TRUE(send_all(*far, std::array{std::byte{1}}).ok());
  sender.join();
  EXPECT_EQ(got, bytes);
}

TEST_F(ResumableChannelTest, EndsByTheErrorOfTheSlot) {
  cut();
  near_slot->give_up({ErrorKind::kConnection, "not in 60 s"});
  EXPECT_TRUE(readable(near->descriptor(), 0));
  std::array<std::byte, 1> none{};
  const iovec room = piece(std::span(none));
  auto got = near->try_receive(std::span(&room, 1));
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.error().text, HasSubstr("not in 60 s"));
  EXPECT_FALSE(near->try_send(std::span(&room, 1)).ok());
}

TEST_F(ResumableChannelTest, EndsInOrder) {
  ASSERT_TRUE(test::echo_rounds(*near, *far, 1).ok());
  const auto bytes = random_bytes(1000, 23);
  ASSERT_TRUE(send_all(*near, bytes).ok());
  near->shutdown_output();
  std::vector<std::byte> got(bytes.size());
  ASSERT_TRUE(receive_all(*far, got).ok());
  EXPECT_EQ(got, bytes);
  auto end = test::receive_some(*far, std::span(got));
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().text, "end of stream");
  // The other direction goes on.
  ASSERT_TRUE(send_all(*far, bytes).ok());
  ASSERT_TRUE(receive_all(*near, got).ok());
  far->shutdown_output();
  end = test::receive_some(*near, std::span(got));
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().text, "end of stream");
}

/// The connection is lost after the last byte was acknowledged, and before the peer's end came.
TEST_F(ResumableChannelTest, ALossAfterTheEndIsTheEnd) {
  ASSERT_TRUE(test::echo_rounds(*near, *far, 1).ok());
  near->shutdown_output();
  cut();
  std::array<std::byte, 1> none{};
  const iovec room = piece(std::span(none));
  auto got = near->try_receive(std::span(&room, 1));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().text, "end of stream");
  EXPECT_FALSE(near_slot->take_loss().has_value());
}

TEST_F(ResumableChannelTest, RefusesAPeerThatSpeaksSomethingElse) {
  const std::string line(16, 'x');
  ASSERT_EQ(send(sockets[1].get(), line.data(), line.size(), 0), 16);
  std::array<std::byte, 1> none{};
  auto got = test::receive_some(*near, none);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().kind, ErrorKind::kProtocol);
  EXPECT_FALSE(near_slot->take_loss().has_value());
}

}  // namespace
}  // namespace impishim::wire
