// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/tcp_channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"

namespace impishim::wire {
namespace {

using test::piece;
using test::random_bytes;
using test::readable;
using test::receive_all;
using test::receive_some;
using test::send_all;
using testing::HasSubstr;

/// A channel and, raw, the other end of its connection: over IPv4 and IPv6.
class TcpChannelTest : public testing::TestWithParam<const char*> {
 protected:
  TcpChannelTest() : TcpChannelTest(test::connected_pair(GetParam())) {}
  explicit TcpChannelTest(std::pair<Descriptor, Descriptor> sockets)
      : channel(std::move(sockets.first), "host 3"), far(std::move(sockets.second)) {}

  int option(int level, int name) const {
    int value = -1;
    socklen_t size = sizeof(value);
    EXPECT_EQ(getsockopt(channel.descriptor(), level, name, &value, &size), 0);
    return value;
  }
  /// Sends until the kernel takes no more; returns the bytes it took.
  std::size_t fill(std::span<const std::byte> bytes) {
    std::size_t total = 0;
    for (;;) {
      const std::array<iovec, 1> pieces = {piece(bytes)};
      auto sent = channel.try_send(pieces);
      EXPECT_TRUE(sent.ok());
      if (!sent || *sent == 0) return total;
      total += *sent;
    }
  }
  /// Ends the connection with a reset instead of an orderly end.
  void reset() {
    const linger hard{1, 0};
    EXPECT_EQ(setsockopt(far.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
    far.reset();
  }

  TcpChannel channel;
  Descriptor far;
};

INSTANTIATE_TEST_SUITE_P(Loopback, TcpChannelTest, testing::Values("127.0.0.1", "::1"),
                         [](const auto& info) {
                           return std::string(info.param) == "::1" ? "Ipv6" : "Ipv4";
                         });

TEST_P(TcpChannelTest, SetsWhatLatencyAndDeadPeersNeed) {
  EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  // It would end a connection to a process that is stopped, whose window stays closed.
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
  // An idle connection to a vanished machine ends within the bound, too.
  EXPECT_LE(option(IPPROTO_TCP, TCP_KEEPIDLE) +
                option(IPPROTO_TCP, TCP_KEEPINTVL) * option(IPPROTO_TCP, TCP_KEEPCNT),
            std::chrono::duration_cast<std::chrono::seconds>(kDeadPeerTime).count());
  EXPECT_EQ(channel.peer_name(), "host 3");
}

TEST_P(TcpChannelTest, GivesNothingBeforeAnythingArrives) {
  std::array<std::byte, 8> room{};
  const std::array<iovec, 1> pieces = {piece(room)};
  auto received = channel.try_receive(pieces);
  ASSERT_TRUE(received.ok());
  EXPECT_EQ(*received, 0U);
}

TEST_P(TcpChannelTest, GathersAndScatters) {
  const auto bytes = random_bytes(1000, 1);
  const std::span<const std::byte> all = bytes;
  const std::array<iovec, 3> out = {piece(all.first(10)), piece(all.first(0)),
                                    piece(all.subspan(10))};
  ASSERT_EQ(*channel.try_send(out), bytes.size());
  std::vector<std::byte> got(bytes.size());
  ASSERT_EQ(recv(far.get(), got.data(), got.size(), MSG_WAITALL), static_cast<ssize_t>(got.size()));
  EXPECT_EQ(got, bytes);
  ASSERT_EQ(send(far.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  std::fill(got.begin(), got.end(), std::byte{0});
  ASSERT_TRUE(readable(channel.descriptor(), test::kLongMs));
  const std::span<std::byte> room = got;
  const std::array<iovec, 2> in = {piece(room.first(400)), piece(room.subspan(400))};
  ASSERT_EQ(*channel.try_receive(in), bytes.size());
  EXPECT_EQ(got, bytes);
}

TEST_P(TcpChannelTest, KnowsWhatThePeersMachineHasTaken) {
  EXPECT_EQ(channel.delivered(), 0U);
  const auto bytes = random_bytes(1000, 7);
  const std::array<iovec, 1> out = {piece(std::span<const std::byte>(bytes))};
  ASSERT_EQ(*channel.try_send(out), bytes.size());
  // The peer's kernel acknowledges what its process does not read.
  while (channel.delivered() < bytes.size()) std::this_thread::yield();
  const std::size_t more = fill(random_bytes(1U << 20U, 8));
  EXPECT_LT(channel.delivered(), bytes.size() + more);
}

TEST_P(TcpChannelTest, TakesPartAndAnnouncesRoom) {
  const auto bytes = random_bytes(1U << 20U, 2);
  EXPECT_FALSE(channel.set_want_output(false));
  EXPECT_EQ(channel.epoll_events(), static_cast<std::uint32_t>(EPOLLIN));
  const std::size_t taken = fill(bytes);
  EXPECT_GT(taken, 0U);
  EXPECT_TRUE(channel.set_want_output(true));
  EXPECT_FALSE(channel.set_want_output(true));
  EXPECT_EQ(channel.epoll_events(),
            static_cast<std::uint32_t>(EPOLLIN) | static_cast<std::uint32_t>(EPOLLOUT));
  pollfd state{channel.descriptor(), POLLOUT, 0};
  EXPECT_EQ(poll(&state, 1, 0), 0) << "full";
  std::vector<std::byte> sink(1U << 16U);
  for (std::size_t left = taken; left > 0;) {
    const ssize_t size = recv(far.get(), sink.data(), std::min(sink.size(), left), 0);
    ASSERT_GT(size, 0);
    left -= static_cast<std::size_t>(size);
  }
  EXPECT_EQ(poll(&state, 1, test::kLongMs), 1);
  EXPECT_GT(fill(bytes), 0U);
}

TEST_P(TcpChannelTest, TellsTheEndOfTheStreamAfterItsBytes) {
  ASSERT_EQ(send(far.get(), "12345", 5, 0), 5);
  far.reset();
  std::array<std::byte, 5> room{};
  ASSERT_TRUE(receive_all(channel, room).ok());
  auto end = receive_some(channel, room);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().kind, ErrorKind::kConnection);
  EXPECT_EQ(end.error().text, "end of stream");
}

TEST_P(TcpChannelTest, TellsAResetFromAnEnd) {
  reset();
  std::array<std::byte, 5> room{};
  auto end = receive_some(channel, room);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().kind, ErrorKind::kConnection);
  EXPECT_THAT(end.error().text, HasSubstr("reset"));
}

/// And by an error, not by SIGPIPE.
TEST_P(TcpChannelTest, TellsASenderThatThePeerIsGone) {
  reset();
  ASSERT_TRUE(readable(channel.descriptor(), test::kLongMs));
  const auto bytes = random_bytes(10, 3);
  const std::array<iovec, 1> pieces = {piece(bytes)};
  EXPECT_FALSE(channel.try_send(pieces).ok());
  auto again = channel.try_send(pieces);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::kConnection);
}

TEST_P(TcpChannelTest, CanEndItsOutputAndStillRead) {
  channel.shutdown_output();
  char byte = 0;
  EXPECT_EQ(recv(far.get(), &byte, 1, 0), 0);
  ASSERT_EQ(send(far.get(), "12345", 5, 0), 5);
  std::array<std::byte, 5> room{};
  EXPECT_TRUE(receive_all(channel, room).ok());
}

TEST_P(TcpChannelTest, CarriesALongStreamInPiecesOfAnySize) {
  TcpChannel peer(std::move(far), "host 4");
  const auto bytes = random_bytes(16U << 20U, 4);
  std::vector<std::byte> got(bytes.size());
  Result<void> received;
  std::thread consumer([&] {
    std::mt19937 random(5);
    std::span<std::byte> rest = got;
    while (!rest.empty() && received.ok()) {
      const std::size_t size = std::min<std::size_t>(rest.size(), 1 + random() % 200000);
      received = receive_all(peer, rest.first(size));
      rest = rest.subspan(size);
    }
  });
  std::mt19937 random(6);
  std::span<const std::byte> rest = bytes;
  Result<void> sent;
  while (!rest.empty() && sent.ok()) {
    const std::size_t size = std::min<std::size_t>(rest.size(), 1 + random() % 3000000);
    sent = send_all(channel, rest.first(size));
    rest = rest.subspan(size);
  }
  consumer.join();
  EXPECT_TRUE(sent.ok()) << sent.error().text;
  EXPECT_TRUE(received.ok()) << received.error().text;
  EXPECT_TRUE(got == bytes);
}

}  // namespace
}  // namespace impishim::wire
