// SPDX-License-Identifier: Apache-2.0
/// A relay and hosts that are sockets on loopback, all in one thread.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "wire/relay/relay_hello.hpp"
#include "wire/relay/relay_service.hpp"

namespace impishim::wire::test {

inline RelayToken token_of(int seed) {
  RelayToken token;
  std::ranges::copy(random_bytes(token.size(), static_cast<std::uint32_t>(seed)), token.begin());
  return token;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline void set_socket_buffers(int socket, int size) {
  EXPECT_EQ(setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
  EXPECT_EQ(setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
}

/// A host's connection, and what it has received. No function blocks.
struct HostSocket {
  Descriptor socket;
  std::vector<std::byte> got;
  bool ended = false;   ///< the relay has ended the stream
  bool failed = false;  ///< the connection was reset

  /// Sends what the kernel takes; returns the number of bytes.
  std::size_t send_some(std::span<const std::byte> bytes) {
    const ssize_t count =
        send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  /// Reads at most `most` bytes, once.
  void receive_some(std::size_t most = 65536) {
    std::vector<std::byte> room(most);
    const ssize_t count = recv(socket.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (count > 0) got.insert(got.end(), room.begin(), room.begin() + count);
    if (count == 0) ended = true;
    if (count < 0 && errno != EAGAIN) failed = true;
  }
  /// What follows the relay's answer.
  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t i = kRelayAnswerSize; i < got.size(); ++i) text += static_cast<char>(got[i]);
    return text;
  }
  [[nodiscard]] bool is_answered() const {
    return got.size() >= kRelayAnswerSize &&
           check_relay_answer(std::span(got).first<kRelayAnswerSize>()).ok();
  }
};

class RelayByHand : public testing::Test {
 protected:
  using Clock = RelayService::Clock;

  void SetUp() override { open({}); }
  void open(const RelayLimits& limits) {
    auto opened = RelayService::open(token, limits);
    ASSERT_TRUE(opened.ok()) << opened.error().text;
    service.emplace(std::move(*opened));
  }

  /// A host whose connection the relay has with `first_bytes` read from it. `buffers`: sizes of
  /// all kernel buffers; 0: as the kernel likes.
  HostSocket connect(std::span<const std::byte> first_bytes, int buffers = 0) {
    auto [near, far] = connected_pair("127.0.0.1");
    if (buffers != 0) {
      set_socket_buffers(near.get(), buffers);
      set_socket_buffers(far.get(), buffers);
    }
    service->adopt(std::move(far), "a host", first_bytes, Clock::now());
    collect_reports();
    return {std::move(near), {}, false, false};
  }
  HostSocket come(std::int32_t own, std::int32_t other, int buffers = 0) {
    return connect(encode_relay_hello({token, {own, other}}), buffers);
  }
  /// Two connected hosts that have read their answers.
  std::pair<HostSocket, HostSocket> pair_of(std::int32_t own, std::int32_t other, int buffers = 0) {
    std::pair<HostSocket, HostSocket> hosts;
    hosts.first = come(own, other, buffers);
    hosts.second = come(other, own, buffers);
    EXPECT_TRUE(until([&] { return receive(hosts.first).is_answered(); }));
    EXPECT_TRUE(until([&] { return receive(hosts.second).is_answered(); }));
    return hosts;
  }

  /// Runs the relay until `condition` holds. False: it does not in time.
  template <class Condition>
  bool until(Condition condition) {
    const auto deadline = Clock::now() + std::chrono::milliseconds(kLongMs);
    while (!condition()) {
      if (Clock::now() > deadline) return false;
      if (readable(service->descriptor(), 1)) handle();
    }
    return true;
  }
  void handle(Clock::time_point now = Clock::now()) {
    service->handle(now);
    collect_reports();
  }
  /// Handles events until there are none for a while. Returns false if they do not end.
  bool becomes_quiet() {
    constexpr int kManyEvents = 20000;
    constexpr int kQuietMs = 50;
    for (int i = 0; i < kManyEvents; ++i) {
      if (!readable(service->descriptor(), kQuietMs)) return true;
      handle();
    }
    return false;
  }
  static HostSocket& receive(HostSocket& host) {
    host.receive_some();
    return host;
  }
  bool gets(HostSocket& host, const std::string& text) {
    return until([&] { return receive(host).text() == text; });
  }
  bool is_closed(HostSocket& host) {
    return until([&] { return receive(host).ended || host.failed; });
  }
  void collect_reports() {
    for (auto& report : service->take_reports()) reports.push_back(std::move(report.text));
  }

  const RelayToken token = token_of(1);
  std::vector<std::string> reports;
  std::optional<RelayService> service;
};

}  // namespace impishim::wire::test
