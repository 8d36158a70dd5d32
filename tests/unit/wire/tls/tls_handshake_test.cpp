// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/tls_handshake.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/tls/tls_support.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::connected_pair;
using test::kLongMs;
using test::local_pair;
using test::random_bytes;
using test::receive_all;
using test::send_all;
using test::tls_channels;
using test::tls_session;
using test::tls_terms;
using testing::HasSubstr;

using Channels = Result<std::vector<std::unique_ptr<Channel>>>;

Channels one_channel(Descriptor socket, const TlsTerms& terms, int timeout_ms = kLongMs) {
  std::vector<TlsLink> links;
  links.push_back({std::move(socket), terms, "host 5"});
  return make_tls_channels(std::move(links), timeout_ms);
}

/// Both ends with their own terms, in two threads. The client's result is first.
std::pair<Channels, Channels> meet(std::pair<Descriptor, Descriptor> sockets,
                                   const TlsTerms& of_client, const TlsTerms& of_server) {
  auto server = std::async(std::launch::async,
                           [&] { return one_channel(std::move(sockets.second), of_server); });
  auto client = one_channel(std::move(sockets.first), of_client);
  return {std::move(client), server.get()};
}

TEST(TlsHandshake, MakesChannelsOverAnyStreamSocket) {
  for (auto sockets : {+[] { return local_pair(); }, +[] { return connected_pair("127.0.0.1"); },
                       +[] { return connected_pair("::1"); }}) {
    auto [client, server] = tls_channels(sockets());
    ASSERT_TRUE(client != nullptr && server != nullptr);
    EXPECT_EQ(client->peer_name(), "host 0");
    const auto sent = random_bytes(100, 1);
    Bytes got(sent.size());
    ASSERT_TRUE(send_all(*client, sent).ok());
    ASSERT_TRUE(receive_all(*server, got).ok());
    EXPECT_EQ(got, sent);
  }
}

TEST(TlsHandshake, MakesManyChannelsAtOnceInOrder) {
  constexpr std::size_t kLinks = 20;
  std::vector<TlsLink> clients;
  std::vector<TlsLink> servers;
  for (std::size_t i = 0; i < kLinks; ++i) {
    auto [one, other] = connected_pair("127.0.0.1");
    const std::string name = "channel " + std::to_string(i);
    clients.push_back({std::move(one), tls_terms(TlsRole::kClient, name), name});
    servers.push_back({std::move(other), tls_terms(TlsRole::kServer, name), name});
  }
  auto later = std::async(std::launch::async,
                          [&] { return make_tls_channels(std::move(servers), kLongMs); });
  const auto of_clients = make_tls_channels(std::move(clients), kLongMs);
  const auto of_servers = later.get();
  ASSERT_TRUE(of_clients.ok()) << of_clients.error().text;
  ASSERT_TRUE(of_servers.ok()) << of_servers.error().text;
  for (std::size_t i = 0; i < kLinks; ++i) {
    EXPECT_EQ((*of_clients)[i]->peer_name(), "channel " + std::to_string(i));
    const Bytes sent(1, static_cast<std::byte>(i));
    Bytes got(1);
    ASSERT_TRUE(send_all(*(*of_clients)[i], sent).ok());
    ASSERT_TRUE(receive_all(*(*of_servers)[i], got).ok());
    EXPECT_EQ(got, sent);
  }
}

TEST(TlsHandshake, OfNoLinksIsDone) {
  const auto none = make_tls_channels({}, 0);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}

TEST(TlsHandshake, KeepsWhatComesBehindIt) {
  auto [one, other] = connected_pair("127.0.0.1");
  // The client by hand: its last record and its first message leave in one piece.
  auto client = tls_session(tls_terms(TlsRole::kClient));
  auto later = std::async(std::launch::async, [&, socket = std::move(other)]() mutable {
    return one_channel(std::move(socket), tls_terms(TlsRole::kServer));
  });
  const auto message = random_bytes(50000, 2);
  while (!client->done()) {
    ASSERT_TRUE(client->advance_handshake().ok());
    if (client->done()) {
      ASSERT_EQ(*test::write_bytes(*client, message), message.size());
      client->close();
    }
    const Bytes output = test::take_output(*client);
    ASSERT_EQ(send(one.get(), output.data(), output.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(output.size()));
    if (client->done()) break;
    Bytes room(4096);
    const ssize_t size = recv(one.get(), room.data(), room.size(), 0);
    ASSERT_GT(size, 0);
    room.resize(static_cast<std::size_t>(size));
    ASSERT_EQ(client->feed(room), room.size());
  }
  auto server = later.get();
  ASSERT_TRUE(server.ok()) << server.error().text;
  Bytes got(message.size());
  ASSERT_TRUE(receive_all(*server->front(), got).ok());
  EXPECT_EQ(got, message);
}

TEST(TlsHandshake, WithAnotherKeyFailsAtBothEnds) {
  const auto [client, server] =
      meet(connected_pair("127.0.0.1"), tls_terms(TlsRole::kClient),
           tls_terms(TlsRole::kServer, tls_terms(TlsRole::kServer).identity, std::byte{9}));
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.error().kind, ErrorKind::kAuthentication);
  EXPECT_THAT(server.error().text, HasSubstr("host 5"));
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().kind, ErrorKind::kAuthentication);
  EXPECT_THAT(client.error().text, HasSubstr("host 5"));
}

TEST(TlsHandshake, ForAnotherChannelFailsAtBothEnds) {
  const auto [client, server] = meet(connected_pair("127.0.0.1"), tls_terms(TlsRole::kClient),
                                     tls_terms(TlsRole::kServer, "another"));
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.error().kind, ErrorKind::kAuthentication);
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().kind, ErrorKind::kAuthentication);
}

/// As a process without encryption does: it sends its number (IMPI 2.3.8), or waits for one.
TEST(TlsHandshake, WithAPlainPeerFails) {
  for (const TlsRole role : {TlsRole::kClient, TlsRole::kServer}) {
    auto [one, other] = connected_pair("127.0.0.1");
    test::say_rank(other, 3);
    const auto made = one_channel(std::move(one), tls_terms(role));
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().kind, ErrorKind::kProtocol);
    EXPECT_THAT(made.error().text, HasSubstr("speaks no TLS"));
  }
}

TEST(TlsHandshake, WithASilentPeerEndsInTime) {
  auto [one, other] = connected_pair("127.0.0.1");
  const auto before = std::chrono::steady_clock::now();
  const auto made = one_channel(std::move(one), tls_terms(TlsRole::kClient), 50);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(kLongMs));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(made.error().text, HasSubstr("host 5"));
}

TEST(TlsHandshake, WithAPeerThatClosesFails) {
  auto [one, other] = connected_pair("127.0.0.1");
  other.reset();
  const auto made = one_channel(std::move(one), tls_terms(TlsRole::kServer));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::kConnection);
  EXPECT_THAT(made.error().text, HasSubstr("closed the connection"));
}

/// One bad link ends all, and no socket stays open.
TEST(TlsHandshake, ThatFailsClosesEverySocket) {
  auto [good, far_good] = connected_pair("127.0.0.1");
  auto [bad, far_bad] = connected_pair("127.0.0.1");
  test::say_rank(far_bad, 3);
  std::vector<TlsLink> links;
  links.push_back({std::move(good), tls_terms(TlsRole::kServer), "host 1"});
  links.push_back({std::move(bad), tls_terms(TlsRole::kServer), "host 2"});
  const auto made = make_tls_channels(std::move(links), kLongMs);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().text, HasSubstr("host 2"));
  EXPECT_TRUE(test::was_turned_away(far_good));
}

}  // namespace
}  // namespace impishim::wire
