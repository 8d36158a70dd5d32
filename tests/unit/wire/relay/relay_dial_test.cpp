// SPDX-License-Identifier: Apache-2.0
#include "wire/relay/relay_dial.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/wire/relay/relay_by_hand.hpp"
#include "wire/channel/address.hpp"
#include "wire/relay/relay_hello.hpp"

namespace impishim::wire {
namespace {

using test::HostSocket;
using test::kLongMs;
using testing::HasSubstr;

const char* const kHere = "127.0.0.1";

/// A relay at a port, or what a test plays in its place.
class RelayDialing : public test::RelayByHand {
 protected:
  void SetUp() override {
    RelayByHand::SetUp();
    auto [socket, port] = test::bound_socket(test::host_id(kHere), true);
    listener = std::move(socket);
    address = SocketAddress::of(test::host_id(kHere), port);
  }
  RelayDial dial(std::int32_t own, std::int32_t other) {
    auto started = RelayDial::start(address, token, own, other);
    EXPECT_TRUE(started.ok()) << started.error().text;
    return std::move(*started);
  }
  Descriptor accepted() {
    EXPECT_TRUE(test::readable(listener.get(), kLongMs));
    return Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  /// Accepts the next connection for the relay, which reads all of it.
  void accept_for_relay() { service->adopt(accepted(), "a host", {}, Clock::now()); }
  static short polled(const RelayDial& dial, int timeout_ms) {
    pollfd state = dial.polled();
    return poll(&state, 1, timeout_ms) > 0 ? state.revents : short{0};
  }
  /// Advances `dial` after each event, until it is done or has failed.
  static Result<bool> finish(RelayDial& dial) {
    for (int i = 0; i < 1000; ++i) {
      if (polled(dial, kLongMs) == 0) break;
      auto advanced = dial.advance();
      if (!advanced || *advanced) return advanced;
    }
    return test::late();
  }
  /// Reads the hello of `dial` at the accepting end.
  static std::vector<std::byte> hello_of(RelayDial& dial, int socket) {
    std::vector<std::byte> hello(kRelayHelloSize);
    std::size_t size = 0;
    while (size < hello.size() && !test::readable(socket, 0)) {
      EXPECT_NE(polled(dial, kLongMs), 0);
      auto advanced = dial.advance();
      EXPECT_TRUE(advanced.ok() && !*advanced);
    }
    while (size < hello.size() && test::readable(socket, kLongMs)) {
      const ssize_t count = recv(socket, hello.data() + size, hello.size() - size, 0);
      if (count <= 0) break;
      size += static_cast<std::size_t>(count);
    }
    EXPECT_EQ(size, hello.size());
    return hello;
  }
  static void send_all(int socket, std::span<const std::byte> bytes) {
    EXPECT_EQ(send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  Descriptor listener;
  SocketAddress address;
};

TEST_F(RelayDialing, ConnectsTwoHosts) {
  RelayDial left = dial(1, 2);
  accept_for_relay();
  bool left_done = false;
  EXPECT_TRUE(until([&] {
    if (polled(left, 0) != 0) left_done = *left.advance();
    return service->waiting() == 1;
  }));
  EXPECT_FALSE(left_done);
  EXPECT_EQ(polled(left, 50), 0) << "there is nothing to do while it waits";
  RelayDial right = dial(2, 1);
  accept_for_relay();
  bool right_done = false;
  EXPECT_TRUE(until([&] {
    if (!left_done && polled(left, 0) != 0) left_done = *left.advance();
    if (!right_done && polled(right, 0) != 0) right_done = *right.advance();
    return left_done && right_done;
  }));
  HostSocket near{left.take(), {}, false, false};
  HostSocket far{right.take(), {}, false, false};
  near.send_some(test::bytes_of("handshake"));
  EXPECT_TRUE(until([&] { return receive(far).got.size() == 9; }));
  EXPECT_EQ(far.ended, false);
}

TEST_F(RelayDialing, SendsItsHello) {
  RelayDial dialled = dial(7, 3);
  const Descriptor relay = accepted();
  const auto decoded = decode_relay_hello(hello_of(dialled, relay.get()));
  ASSERT_TRUE(decoded.ok() && decoded->has_value());
  EXPECT_EQ((*decoded)->token, token);
  EXPECT_EQ((*decoded)->ends, (RelayEnds{7, 3}));
}

TEST_F(RelayDialing, ReadsNoByteBehindTheAnswer) {
  RelayDial dialled = dial(1, 2);
  const Descriptor relay = accepted();
  static_cast<void>(hello_of(dialled, relay.get()));
  const auto answer = encode_relay_answer();
  std::vector<std::byte> bytes(answer.begin(), answer.end());
  const auto behind = test::bytes_of("of the handshake");
  bytes.insert(bytes.end(), behind.begin(), behind.end());
  send_all(relay.get(), bytes);
  const auto done = finish(dialled);
  ASSERT_TRUE(done.ok()) << done.error().text;
  const Descriptor socket = dialled.take();
  std::array<std::byte, 100> got{};
  ASSERT_TRUE(test::readable(socket.get(), kLongMs));
  ASSERT_EQ(recv(socket.get(), got.data(), got.size(), MSG_DONTWAIT),
            static_cast<ssize_t>(behind.size()));
  EXPECT_TRUE(std::ranges::equal(std::span(got).first(behind.size()), behind));
}

TEST_F(RelayDialing, TakesAnAnswerInSingleBytes) {
  RelayDial dialled = dial(1, 2);
  const Descriptor relay = accepted();
  static_cast<void>(hello_of(dialled, relay.get()));
  const auto answer = encode_relay_answer();
  for (std::size_t i = 0; i < answer.size(); ++i) {
    send_all(relay.get(), std::span(answer).subspan(i, 1));
    ASSERT_NE(polled(dialled, kLongMs), 0);
    const auto advanced = dialled.advance();
    ASSERT_TRUE(advanced.ok()) << advanced.error().text;
    EXPECT_EQ(*advanced, i + 1 == answer.size());
  }
}

TEST_F(RelayDialing, RefusesAnotherAnswer) {
  RelayDial dialled = dial(1, 2);
  const Descriptor relay = accepted();
  send_all(relay.get(), test::bytes_of("SAID....no."));
  send_all(relay.get(), test::bytes_of("!"));
  const auto done = finish(dialled);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::kProtocol);
  EXPECT_THAT(done.error().text, HasSubstr(kHere));
}

TEST_F(RelayDialing, FailsIfTheRelayTurnsItAway) {
  auto started = RelayDial::start(address, test::token_of(2), 1, 2);
  ASSERT_TRUE(started.ok());
  accept_for_relay();
  Result<bool> done = false;
  EXPECT_TRUE(until([&] {
    if (polled(*started, 0) != 0) done = started->advance();
    return !done.ok();
  }));
  EXPECT_EQ(done.error().kind, ErrorKind::kConnection);
  EXPECT_THAT(done.error().text, HasSubstr(kHere));
}

TEST_F(RelayDialing, FailsIfNoRelayListens) {
  listener.reset();
  RelayDial dialled = dial(1, 2);
  const auto done = finish(dialled);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::kConnection);
  EXPECT_THAT(done.error().text, HasSubstr("refused"));
}

TEST_F(RelayDialing, IsNotDoneBeforeTcpIsConnected) {
  // The listener's queue is full: the kernel leaves the next connection without an answer.
  ASSERT_EQ(listen(listener.get(), 0), 0);
  std::vector<RelayDial> dials;
  for (int i = 0; i < 4; ++i) dials.push_back(dial(1, 2));
  EXPECT_EQ(polled(dials.back(), 50), 0);
  const auto advanced = dials.back().advance();
  ASSERT_TRUE(advanced.ok()) << advanced.error().text;
  EXPECT_FALSE(*advanced);
}

TEST_F(RelayDialing, RefusesEndsThatCannotBeConnected) {
  EXPECT_EQ(RelayDial::start(address, token, 1, 1).error().kind, ErrorKind::kProtocol);
  EXPECT_EQ(RelayDial::start(address, token, -1, 1).error().kind, ErrorKind::kProtocol);
}

}  // namespace
}  // namespace impishim::wire
