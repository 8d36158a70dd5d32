// SPDX-License-Identifier: Apache-2.0
// A channel whose peer is played by hand: records that are damaged, incomplete or early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/tls/tls_support.hpp"
#include "wire/tls/tls_channel.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::connected_pair;
using test::kLongMs;
using test::piece;
using test::random_bytes;
using test::readable;
using test::receive_all;
using test::receive_some;
using test::tls_session;
using test::tls_terms;
using testing::HasSubstr;

/// A channel whose other end is a session that the test drives by hand.
struct ByHand {
  Descriptor socket;
  std::unique_ptr<TlsSession> session = tls_session(tls_terms(TlsRole::kServer));
  std::unique_ptr<Channel> channel;

  ByHand() {
    auto sockets = connected_pair("127.0.0.1");
    auto client = tls_session(tls_terms(TlsRole::kClient));
    while (!client->done() || !session->done()) {
      EXPECT_TRUE(client->advance_handshake().ok());
      test::deliver(*client, *session);
      EXPECT_TRUE(session->advance_handshake().ok());
      test::deliver(*session, *client);
    }
    auto made = TlsChannel::make(std::move(sockets.first), std::move(client), "host 0");
    EXPECT_TRUE(made.ok());
    channel = std::move(*made);
    socket = std::move(sockets.second);
  }
  void send_raw(std::span<const std::byte> bytes) {
    EXPECT_EQ(send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
};

TEST(TlsChannel, RefusesADamagedRecordAndTellsThePeer) {
  ByHand far;
  ASSERT_EQ(*test::write_bytes(*far.session, Bytes(20)), 20U);
  Bytes record = test::take_output(*far.session);
  record.back() ^= std::byte{1};
  far.send_raw(record);
  Bytes room(20);
  const auto refused = receive_some(*far.channel, room);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kProtocol);
  Bytes alert(100);
  const ssize_t size = recv(far.socket.get(), alert.data(), alert.size(), 0);
  ASSERT_GT(size, 0);
  alert.resize(static_cast<std::size_t>(size));
  ASSERT_EQ(far.session->feed(alert), alert.size());
  const auto told = test::read_bytes(*far.session, 10);
  ASSERT_FALSE(told.ok());
  EXPECT_THAT(told.error().text, HasSubstr("alert"));
}

/// Bytes before a damaged record are good.
TEST(TlsChannel, TellsBytesBeforeAnError) {
  ByHand far;
  const auto good = random_bytes(20, 14);
  ASSERT_EQ(*test::write_bytes(*far.session, good), 20U);
  Bytes records = test::take_output(*far.session);
  ASSERT_EQ(*test::write_bytes(*far.session, Bytes(20)), 20U);
  Bytes damaged = test::take_output(*far.session);
  damaged.back() ^= std::byte{1};
  records.insert(records.end(), damaged.begin(), damaged.end());
  far.send_raw(records);
  Bytes room(20);  // no room for more, so the damaged record stays in the session
  const auto some = receive_some(*far.channel, room);
  ASSERT_TRUE(some.ok());
  room.resize(*some);
  EXPECT_EQ(room, good);
  ASSERT_TRUE(readable(far.channel->descriptor(), kLongMs));
  const auto refused = receive_some(*far.channel, room);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kProtocol);
  Bytes alert(100);
  EXPECT_GT(recv(far.socket.get(), alert.data(), alert.size(), 0), 0);
}

/// What came with the handshake is in the session, and the socket does not announce it.
TEST(TlsChannel, AnnouncesWhatTheSessionHasAlready) {
  auto sockets = connected_pair("127.0.0.1");
  test::TlsPair pair;
  pair.shake_well();
  ASSERT_EQ(*test::write_bytes(*pair.server, Bytes(20)), 20U);
  test::deliver(*pair.server, *pair.client);
  ASSERT_EQ(*test::write_bytes(*pair.client, Bytes(20)), 20U);
  auto channel = TlsChannel::make(std::move(sockets.first), std::move(pair.client), "host 0");
  ASSERT_TRUE(channel.ok());
  EXPECT_TRUE(readable((*channel)->descriptor(), 0));
  EXPECT_TRUE(readable(sockets.second.get(), kLongMs)) << "and what it had still to send";
}

TEST(TlsChannel, WaitsForTheRestOfARecord) {
  ByHand far;
  const auto text = random_bytes(5000, 15);
  ASSERT_EQ(*test::write_bytes(*far.session, text), text.size());
  const Bytes record = test::take_output(*far.session);
  Bytes room(text.size());
  const iovec one = piece(room);
  for (const std::byte each : std::span(record).first(100)) {
    far.send_raw({&each, 1});
    ASSERT_TRUE(readable(far.channel->descriptor(), kLongMs));
    ASSERT_EQ(*far.channel->try_receive(std::span(&one, 1)), 0U);
    ASSERT_TRUE(far.channel->prepare_to_sleep());
    ASSERT_FALSE(readable(far.channel->descriptor(), 0)) << "an incomplete record is no input";
  }
  far.send_raw(std::span(record).subspan(100));
  ASSERT_TRUE(receive_all(*far.channel, room).ok());
  EXPECT_EQ(room, text);
}

}  // namespace
}  // namespace impishim::wire
