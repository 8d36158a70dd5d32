// SPDX-License-Identifier: Apache-2.0
// An attacker on the way: damaged, cut, repeated, exchanged and replayed records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/tls/tls_support.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::random_bytes;
using test::read_bytes;
using test::records_of;
using test::take_output;
using test::tls_session;
using test::tls_terms;
using test::TlsPair;
using test::write_bytes;
using testing::HasSubstr;

/// A conversation in which each end sends a message, with its records passing through `on_way`.
struct Conversation {
  static constexpr std::size_t kMessage = 40;

  TlsPair pair;
  Bytes from_client = random_bytes(kMessage, 31);
  Bytes from_server = random_bytes(kMessage, 32);
  std::size_t records = 0;         ///< number of records so far
  std::vector<std::size_t> sizes;  ///< their sizes
  std::size_t damaged_record = ~std::size_t{0};
  std::size_t damaged_bit = 0;
  std::optional<Error> error;
  Bytes got_by_server;
  Bytes got_by_client;

  void pass(TlsSession& from, TlsSession& to) {
    for (Bytes& record : records_of(take_output(from))) {
      if (records == damaged_record)
        record[damaged_bit / 8] ^= std::byte{1} << static_cast<int>(damaged_bit % 8);
      ++records;
      sizes.push_back(record.size());
      EXPECT_EQ(to.feed(record), record.size());
    }
  }
  void note(const Result<void>& result) {
    if (!result && !error) error = result.error();
  }
  void read(TlsSession& session, Bytes& got) {
    for (;;) {
      auto some = read_bytes(session, 1000);
      if (!some) note(some.error());
      if (!some || some->empty()) return;
      got.insert(got.end(), some->begin(), some->end());
    }
  }
  void run() {
    TlsSession& client = *pair.client;
    TlsSession& server = *pair.server;
    for (int i = 0; i < 3; ++i) {
      note(client.advance_handshake());
      pass(client, server);
      note(server.advance_handshake());
      pass(server, client);
    }
    if (client.done() && write_bytes(client, from_client).ok()) pass(client, server);
    if (server.done()) read(server, got_by_server);
    if (server.done() && write_bytes(server, from_server).ok()) pass(server, client);
    if (client.done()) read(client, got_by_client);
    client.close();
    pass(client, server);
    if (server.done()) read(server, got_by_server);
  }
};

TEST(TlsDamage, WithoutAnyAConversationSucceeds) {
  Conversation whole;
  whole.run();
  EXPECT_EQ(whole.got_by_server, whole.from_client);
  EXPECT_EQ(whole.got_by_client, whole.from_server);
  EXPECT_EQ(whole.error->text, "end of stream");
  EXPECT_GE(whole.records, 6U);
}

/// The version in the header of a record that is not encrypted has no meaning (RFC 8446 5.1), and
/// nothing protects it. The first two records are the hellos.
bool is_without_meaning(std::size_t record, std::size_t bit) {
  return record < 2 && (bit / 8 == 1 || bit / 8 == 2);
}

TEST(TlsDamage, OfASingleBitIsNoticed) {
  std::mt19937 random(33);
  Conversation whole;
  whole.run();
  std::size_t tried = 0;
  for (std::size_t record = 0; record < whole.records; ++record) {
    std::set<std::size_t> bits;
    for (std::size_t bit = 0; bit < 40; ++bit) bits.insert(bit);
    for (int i = 0; i < 60; ++i) bits.insert(random() % (8 * whole.sizes[record]));
    for (const std::size_t bit : bits) {
      if (is_without_meaning(record, bit)) continue;
      Conversation damaged;
      damaged.damaged_record = record;
      damaged.damaged_bit = bit;
      damaged.run();
      const std::string where = "record " + std::to_string(record) + " bit " + std::to_string(bit);
      const bool complete = damaged.error && damaged.error->text == "end of stream" &&
                            damaged.got_by_server == damaged.from_client &&
                            damaged.got_by_client == damaged.from_server;
      EXPECT_FALSE(complete) << where << " passes unseen";
      // Never other bytes than those that were sent.
      EXPECT_TRUE(damaged.got_by_server.empty() || damaged.got_by_server == damaged.from_client)
          << where;
      EXPECT_TRUE(damaged.got_by_client.empty() || damaged.got_by_client == damaged.from_server)
          << where;
      ++tried;
    }
  }
  EXPECT_GT(tried, 300U);
}

/// The records of one direction after the handshake, and the session that reads them.
struct DamagedStream {
  TlsPair pair;
  std::vector<Bytes> records;
  std::vector<Bytes> texts;

  explicit DamagedStream(std::size_t count) {
    pair.shake_well();
    for (unsigned i = 0; i < count; ++i) {
      texts.push_back(random_bytes(100, 40 + i));
      EXPECT_EQ(*write_bytes(*pair.client, texts.back()), texts.back().size());
    }
    records = records_of(take_output(*pair.client));
    EXPECT_EQ(records.size(), count);
  }
  Result<Bytes> receive(const Bytes& record) {
    EXPECT_EQ(pair.server->feed(record), record.size());
    return read_bytes(*pair.server, 200);
  }
  void expect_refusal(const Bytes& record) {
    const auto refused = receive(record);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::kProtocol);
    EXPECT_THAT(refused.error().text, HasSubstr("damaged or forged"));
    // It is final, and nothing can be sent either.
    EXPECT_FALSE(receive(records.back()).ok());
    EXPECT_FALSE(write_bytes(*pair.server, texts[0]).ok());
  }
};

TEST(TlsDamage, ARepeatedRecordIsRefused) {
  DamagedStream stream(3);
  ASSERT_EQ(*stream.receive(stream.records[0]), stream.texts[0]);
  stream.expect_refusal(stream.records[0]);
}

TEST(TlsDamage, AMissingRecordIsNoticed) {
  DamagedStream stream(3);
  ASSERT_EQ(*stream.receive(stream.records[0]), stream.texts[0]);
  stream.expect_refusal(stream.records[2]);
}

TEST(TlsDamage, AReflectedRecordIsRefused) {
  DamagedStream stream(1);
  ASSERT_EQ(stream.pair.client->feed(stream.records[0]), stream.records[0].size());
  EXPECT_FALSE(read_bytes(*stream.pair.client, 200).ok());
}

TEST(TlsDamage, ThePeerLearnsOfIt) {
  DamagedStream stream(1);
  stream.records[0].back() ^= std::byte{1};
  stream.expect_refusal(stream.records[0]);
  test::deliver(*stream.pair.server, *stream.pair.client);
  const auto told = read_bytes(*stream.pair.client, 100);
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().kind, ErrorKind::kProtocol);
  EXPECT_THAT(told.error().text, HasSubstr("alert"));
}

TEST(TlsDamage, ACutRecordGivesNothing) {
  DamagedStream stream(1);
  Bytes record = stream.records[0];
  record.pop_back();
  const auto nothing = stream.receive(record);
  ASSERT_TRUE(nothing.ok());
  EXPECT_TRUE(nothing->empty());
  EXPECT_THAT(stream.pair.server->end_of_input("end of stream").text, HasSubstr("cut"));
}

/// All that a client sent in one connection, sent again in another one.
TEST(TlsDamage, AReplayedConversationIsRefused) {
  TlsPair first;
  Bytes recorded;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(first.client->advance_handshake().ok());
    const Bytes bytes = take_output(*first.client);
    recorded.insert(recorded.end(), bytes.begin(), bytes.end());
    ASSERT_EQ(first.server->feed(bytes), bytes.size());
    ASSERT_TRUE(first.server->advance_handshake().ok());
    test::deliver(*first.server, *first.client);
  }
  ASSERT_TRUE(first.client->done() && first.server->done());
  ASSERT_EQ(*write_bytes(*first.client, Bytes(50)), 50U);
  const Bytes message = take_output(*first.client);
  recorded.insert(recorded.end(), message.begin(), message.end());

  auto server = tls_session(tls_terms(TlsRole::kServer));
  ASSERT_EQ(server->feed(recorded), recorded.size());
  Result<void> result = server->advance_handshake();
  if (result.ok()) result = server->advance_handshake();
  EXPECT_FALSE(result.ok());
  EXPECT_FALSE(server->done());
}

/// A hello without a key, as a browser sends it: its extension 41 gets a number that none has. The
/// extension is the last one, so its bytes are still in place.
TEST(TlsDamage, AHelloWithoutAKeyIsRefused) {
  auto client = tls_session(tls_terms(TlsRole::kClient));
  ASSERT_TRUE(client->advance_handshake().ok());
  Bytes hello = take_output(*client);
  const Bytes identity = [] {
    const std::string text = tls_terms(TlsRole::kClient).identity;
    const auto bytes = std::as_bytes(std::span(text));
    return Bytes(bytes.begin(), bytes.end());
  }();
  const auto found = std::search(hello.begin(), hello.end(), identity.begin(), identity.end());
  ASSERT_NE(found, hello.end());
  // Before the identity: its size, the size of the list, the size and the number of the extension.
  const auto number = found - 8;
  ASSERT_EQ(number[0], std::byte{0});
  ASSERT_EQ(number[1], std::byte{41});
  number[0] = std::byte{0x5a};
  auto server = tls_session(tls_terms(TlsRole::kServer));
  ASSERT_EQ(server->feed(hello), hello.size());
  const auto refused = server->advance_handshake();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kAuthentication) << refused.error().text;
  EXPECT_THAT(refused.error().text, HasSubstr("no key"));
}

}  // namespace
}  // namespace impishim::wire
