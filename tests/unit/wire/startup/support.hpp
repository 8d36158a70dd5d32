// SPDX-License-Identifier: Apache-2.0
/// What the tests of startup share: bytes by hand, a server driven without sockets, sound values of
/// a job.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/server/startup_server.hpp"
#include "wire/startup/negotiation.hpp"

namespace impishim::wire::test {

using Bytes = std::vector<std::byte>;

/// Integers one after the other, each in its own width.
template <class... Integers>
Bytes bytes_of(Integers... values) {
  ByteWriter out;
  (out.put(values), ...);
  return out.take();
}

inline Bytes text_bytes(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A server and what it wanted done, sorted by connection.
class DrivenServer {
 public:
  explicit DrivenServer(std::int32_t clients,
                        AuthenticationMethods methods = {.none = true,
                                                         .key = false,
                                                         .key_value = 0},
                        std::vector<std::int32_t> preference = {kAuthKey, kAuthNone})
      : server(clients, std::move(methods), std::move(preference)) {
    server.at(now_);
  }

  void connect(int connection, std::chrono::seconds may_return = {}) {
    server.connected(connection, "peer " + std::to_string(connection), may_return);
  }
  void say(int connection, const Bytes& bytes) {
    server.received(connection, bytes);
    collect();
  }
  void hang_up(int connection) {
    server.disconnected(connection);
    collect();
  }
  /// Lets time pass, and has the server do then what it wants to do.
  void pass(StartupServer::Clock::duration time) {
    const auto end = now_ + time;
    for (auto next = server.next_limit(); next && *next <= end; next = server.next_limit()) {
      now_ = std::max(now_, *next);
      server.at(now_);
      collect();
    }
    now_ = end;
    server.at(now_);
    collect();
  }
  void answer_probe(int connection) {
    server.alive(connection);
    collect();
  }
  /// Who was to be probed since the last time.
  std::vector<int> probed() { return std::exchange(probed_, {}); }
  /// AUTH by NONE, kHello and IMPI: a client of ours.
  void announce(int connection, std::int32_t client) {
    connect(connection);
    introduce(connection, client);
  }
  /// The same on a connection that is there.
  void introduce(int connection, std::int32_t client) {
    say(connection, encode_startup(StartupCommand::kAuth, bytes_of(1U << kAuthNone)));
    ASSERT_EQ(take(connection), bytes_of(kAuthNone, 0));
    say(connection, encode_startup(StartupCommand::kHello, {}));
    ASSERT_EQ(take(connection), encode_startup(StartupCommand::kHello, {}));
    say(connection, encode_startup(StartupCommand::kImpi, bytes_of(client)));
  }
  /// AUTH by NONE, and IMPI.
  void join(int connection, std::int32_t client) {
    connect(connection);
    say(connection, encode_startup(StartupCommand::kAuth, bytes_of(1U << kAuthNone)));
    ASSERT_EQ(take(connection), bytes_of(kAuthNone, 0));
    say(connection, encode_startup(StartupCommand::kImpi, bytes_of(client)));
  }
  /// What was sent to a connection since the last time.
  Bytes take(int connection) { return std::exchange(sent_[connection], {}); }
  /// The next message for a connection.
  StartupMessage next(int connection) {
    StartupDecoder decoder;
    decoder.feed(sent_[connection]);
    auto message = decoder.next();
    if (!message || !message->has_value()) {
      ADD_FAILURE() << "no message for connection " << connection;
      return {};
    }
    const auto used = static_cast<std::ptrdiff_t>(sent_[connection].size() - decoder.buffered());
    sent_[connection].erase(sent_[connection].begin(), sent_[connection].begin() + used);
    return std::move(**message);
  }
  bool nothing_for(int connection) { return sent_[connection].empty(); }
  bool closed(int connection) { return closed_[connection]; }
  std::vector<std::string> told() { return std::exchange(told_, {}); }

  StartupServer server;

  void collect() {
    for (ServerAction& action : server.take_actions()) {
      if (action.kind == ServerAction::Kind::kTell) told_.push_back(action.text);
      if (action.kind == ServerAction::Kind::kProbe) probed_.push_back(action.connection);
      if (action.kind == ServerAction::Kind::kClose) closed_[action.connection] = true;
      if (action.kind == ServerAction::Kind::kSend) {
        EXPECT_FALSE(closed_[action.connection]) << "sent after closing";
        auto& sent = sent_[action.connection];
        sent.insert(sent.end(), action.bytes.begin(), action.bytes.end());
      }
    }
  }

 private:
  std::map<int, Bytes> sent_;
  std::map<int, bool> closed_;
  std::vector<std::string> told_;
  std::vector<int> probed_;
  StartupServer::Clock::time_point now_{std::chrono::hours(1)};
};

inline Bytes command(StartupCommand which) { return encode_startup(which, {}); }
inline Bytes auth(std::uint32_t mask) {
  return encode_startup(StartupCommand::kAuth, bytes_of(mask));
}
/// A client's number, or the server's number of clients.
inline Bytes impi(std::int32_t number) {
  return encode_startup(StartupCommand::kImpi, bytes_of(number));
}

inline Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// The server says why and closes.
inline void expect_turned_away(DrivenServer& driven, int connection, const std::string& reason) {
  const StartupMessage said = driven.next(connection);
  EXPECT_EQ(said.command, static_cast<std::uint32_t>(StartupCommand::kSaid));
  EXPECT_THAT(as_text(said.payload), testing::HasSubstr(reason));
  EXPECT_TRUE(driven.nothing_for(connection));
  EXPECT_TRUE(driven.closed(connection));
}

/// 10.0.0.<number>
inline HostId address(std::uint8_t number) {
  HostId id{};
  id[12] = std::byte{10};
  id[15] = std::byte{number};
  return id;
}

/// What client `number` joins with: `procs[h]` procs on its host h.
inline JoinOptions joining(std::int32_t number, const std::vector<int>& procs) {
  JoinOptions options;
  options.client = number;
  for (std::size_t h = 0; h < procs.size(); ++h) {
    LocalHost host;
    host.address = address(static_cast<std::uint8_t>(10 * (number + 1) + static_cast<int>(h)));
    host.port = static_cast<std::uint16_t>(1000 * (number + 1) + static_cast<int>(h));
    for (int p = 0; p < procs[h]; ++p) host.procs.push_back({host.address, 100 * (number + 1) + p});
    options.hosts.push_back(std::move(host));
  }
  return options;
}

/// What the server makes of the clients' contributions.
inline std::map<std::uint32_t, LabelData> concatenate(const std::vector<JoinOptions>& clients) {
  std::map<std::uint32_t, LabelData> labels;
  for (std::size_t c = 0; c < clients.size(); ++c) {
    for (const auto& [label, data] : contributions(clients[c])) {
      labels[label].client_mask |= 1U << c;
      labels[label].data.insert(labels[label].data.end(), data.begin(), data.end());
    }
  }
  return labels;
}

/// Answers of a server to systems of two processes and of one.
inline Bytes sound_answers() {
  Bytes all;
  for (const auto& [label, value] : concatenate({joining(0, {2}), joining(1, {1})})) {
    all = all +
          encode_startup(StartupCommand::kColl, bytes_of(label, value.client_mask) + value.data);
  }
  return all;
}

inline std::uint32_t number_of(StartupLabel label) { return static_cast<std::uint32_t>(label); }

}  // namespace impishim::wire::test
