// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/tls_session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/tls/tls_support.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::deliver;
using test::random_bytes;
using test::read_bytes;
using test::records_of;
using test::take_output;
using test::tls_piece;
using test::tls_session;
using test::tls_terms;
using test::TlsPair;
using test::write_bytes;
using testing::HasSubstr;
using testing::Not;

Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(TlsSession, JoinsTwoEndsThatKnowTheKey) {
  TlsPair pair;
  EXPECT_FALSE(pair.client->done());
  pair.shake_well();
  EXPECT_EQ(pair.client->cipher(), pair.server->cipher());
  EXPECT_THAT(pair.client->cipher(),
              testing::AnyOf("TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"));
  for (auto [from, to] : {std::pair(pair.client.get(), pair.server.get()),
                          std::pair(pair.server.get(), pair.client.get())}) {
    const auto sent = random_bytes(1000, 1);
    ASSERT_EQ(*write_bytes(*from, sent), sent.size());
    const Bytes ciphertext(from->output().begin(), from->output().end());
    EXPECT_EQ(std::search(ciphertext.begin(), ciphertext.end(), sent.begin(), sent.begin() + 16),
              ciphertext.end())
        << "sent in clear";
    deliver(*from, *to);
    const auto got = read_bytes(*to, 2000);
    ASSERT_TRUE(got.ok()) << got.error().text;
    EXPECT_EQ(*got, sent);
  }
}

TEST(TlsSession, UsesFreshKeysForEachConnection) {
  std::vector<Bytes> ciphertexts;
  for (int i = 0; i < 2; ++i) {
    TlsPair pair;
    pair.shake_well();
    ASSERT_EQ(*write_bytes(*pair.client, Bytes(100)), 100U);
    ciphertexts.push_back(take_output(*pair.client));
  }
  EXPECT_NE(ciphertexts[0], ciphertexts[1]);
}

TEST(TlsSession, SendsNothingThatItWasNotAskedFor) {
  TlsPair pair;
  pair.shake_well();
  EXPECT_TRUE(pair.client->output().empty());
  EXPECT_TRUE(pair.server->output().empty()) << "a session ticket?";
  EXPECT_FALSE(pair.client->has_input());
}

TEST(TlsSession, RefusesAnotherKey) {
  TlsPair pair(tls_terms(TlsRole::kClient),
               tls_terms(TlsRole::kServer, "job 1: host 3 to host 0", std::byte{8}));
  const auto [of_client, of_server] = pair.shake();
  ASSERT_FALSE(of_server.ok());
  EXPECT_EQ(of_server.error().kind, ErrorKind::kAuthentication);
  EXPECT_THAT(of_server.error().text, HasSubstr("another key"));
  ASSERT_FALSE(of_client.ok());
  EXPECT_EQ(of_client.error().kind, ErrorKind::kAuthentication);
  EXPECT_THAT(of_client.error().text, HasSubstr("refuses the key"));
}

TEST(TlsSession, RefusesAnotherIdentity) {
  for (const char* other : {"job 2: host 3 to host 0", "job 1: host 3 to host 0 ", "j"}) {
    TlsPair pair(tls_terms(TlsRole::kClient), tls_terms(TlsRole::kServer, other));
    const auto [of_client, of_server] = pair.shake();
    ASSERT_FALSE(of_server.ok());
    EXPECT_EQ(of_server.error().kind, ErrorKind::kAuthentication);
    EXPECT_THAT(of_server.error().text, HasSubstr("another channel"));
    ASSERT_FALSE(of_client.ok());
    EXPECT_EQ(of_client.error().kind, ErrorKind::kAuthentication);
  }
}

TEST(TlsSession, RefusesTermsThatNoChannelCanHave) {
  for (const std::size_t size : {std::size_t{0}, TlsSession::kMostIdentity + 1}) {
    const auto made = TlsSession::make(tls_terms(TlsRole::kClient, std::string(size, 'x')));
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().kind, ErrorKind::kConfiguration);
  }
  TlsPair pair(tls_terms(TlsRole::kClient, std::string(TlsSession::kMostIdentity, 'x')),
               tls_terms(TlsRole::kServer, std::string(TlsSession::kMostIdentity, 'x')));
  pair.shake_well();
}

TEST(TlsSession, TwoEndsOfOneRoleDoNotJoin) {
  for (const TlsRole role : {TlsRole::kClient, TlsRole::kServer}) {
    TlsPair pair(tls_terms(role), tls_terms(role));
    const auto [one, other] = pair.shake();
    EXPECT_FALSE(pair.client->done() || pair.server->done());
    EXPECT_EQ(one.ok(), role == TlsRole::kServer) << "two servers wait";
  }
}

TEST(TlsSession, TellsAPeerThatSpeaksNoTls) {
  for (const TlsRole role : {TlsRole::kClient, TlsRole::kServer}) {
    for (const Bytes& first : {Bytes(4), bytes_of("SSH-2.0-OpenSSH_9.2"),
                               bytes_of("GET / HTTP/1.1"), Bytes{std::byte{22}, std::byte{9}}}) {
      auto session = tls_session(tls_terms(role));
      ASSERT_TRUE(session->advance_handshake().ok());
      ASSERT_EQ(session->feed(first), first.size());
      const auto refused = session->advance_handshake();
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().kind, ErrorKind::kProtocol);
      EXPECT_THAT(refused.error().text, HasSubstr("speaks no TLS"));
      const auto again = session->advance_handshake();
      ASSERT_FALSE(again.ok());
      EXPECT_EQ(again.error().text, refused.error().text);
    }
  }
}

/// A record may have at most 2^14 + 256 bytes (RFC 8446 5.2).
TEST(TlsSession, RefusesARecordThatIsTooLong) {
  auto server = tls_session(tls_terms(TlsRole::kServer));
  const Bytes header = {std::byte{22}, std::byte{3}, std::byte{1}, std::byte{0xff},
                        std::byte{0xff}};
  ASSERT_EQ(server->feed(header), header.size());
  const auto refused = server->advance_handshake();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kProtocol);
}

TEST(TlsSession, ErrorsContainNoKey) {
  const std::string text_key(32, 'K');
  TlsTerms terms = tls_terms(TlsRole::kServer, "other", std::byte{'K'});
  TlsPair pair(tls_terms(TlsRole::kClient), terms);
  const auto [of_client, of_server] = pair.shake();
  ASSERT_FALSE(of_server.ok());
  EXPECT_THAT(of_server.error().text, Not(HasSubstr("KKK")));
  EXPECT_THAT(of_server.error().text, Not(HasSubstr("4b4b")));
}

TEST(TlsSession, GathersThePiecesOfACallInOneRecord) {
  TlsPair pair;
  pair.shake_well();
  const auto bytes = random_bytes(3000, 2);
  std::vector<iovec> pieces;
  for (std::size_t i = 0; i < 30; ++i)
    pieces.push_back(tls_piece(std::span(bytes).subspan(100 * i, 100)));
  ASSERT_EQ(*pair.client->write(pieces), bytes.size());
  EXPECT_EQ(records_of(pair.client->output()).size(), 1U);
  deliver(*pair.client, *pair.server);
  EXPECT_EQ(*read_bytes(*pair.server, 4000), bytes);
}

/// A packet's header does not divide its payload in other records than full ones.
TEST(TlsSession, FillsItsRecords) {
  TlsPair pair;
  pair.shake_well();
  const auto bytes = random_bytes(128 + 4 * TlsSession::kRecordSize, 3);
  const std::array<iovec, 2> pieces = {tls_piece(std::span(bytes).first(128)),
                                       tls_piece(std::span(bytes).subspan(128))};
  ASSERT_EQ(*pair.client->write(pieces), bytes.size());
  EXPECT_EQ(records_of(pair.client->output()).size(), 5U);
  deliver(*pair.client, *pair.server);
  EXPECT_EQ(*read_bytes(*pair.server, bytes.size()), bytes);
}

TEST(TlsSession, TakesOnlyWhatFits) {
  TlsPair pair;
  pair.shake_well();
  const auto bytes = random_bytes(2 * TlsSession::kBufferSize, 4);
  const auto taken = write_bytes(*pair.client, bytes);
  ASSERT_TRUE(taken.ok());
  EXPECT_GE(*taken, TlsSession::kBufferSize - 2 * TlsSession::kRecordRoom);
  EXPECT_LT(*taken, TlsSession::kBufferSize);
  EXPECT_EQ(*write_bytes(*pair.client, bytes), 0U);
  // A full buffer holds an end all the same.
  pair.client->close();
  deliver(*pair.client, *pair.server);
  EXPECT_EQ(*read_bytes(*pair.server, bytes.size()),
            Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(*taken)));
}

TEST(TlsSession, CarriesAnythingInPiecesOfAnySize) {
  std::mt19937 random(5);
  TlsPair pair;
  pair.shake_well();
  const auto sent = random_bytes(3U << 20U, 6);
  Bytes got;
  std::span<const std::byte> rest = sent;
  while (got.size() < sent.size()) {
    std::vector<iovec> pieces;
    std::size_t offered = 0;
    for (std::size_t i = 0; i < 1 + random() % 5; ++i) {
      const std::size_t size = std::min<std::size_t>(rest.size() - offered,
                                                     random() % (random() % 2 == 0 ? 300 : 40000));
      pieces.push_back(tls_piece(rest.subspan(offered, size)));
      offered += size;
    }
    const auto taken = pair.client->write(pieces);
    ASSERT_TRUE(taken.ok());
    rest = rest.subspan(*taken);
    const auto output = pair.client->output();
    const std::size_t part = std::min<std::size_t>(output.size(), random() % 60000);
    pair.client->remove_output(pair.server->feed(output.first(part)));
    Bytes room(random() % 50000);
    const std::size_t cut = room.size() / 3;
    const std::size_t skip = cut == 0 ? 0 : random() % cut;
    const std::array<iovec, 2> in = {tls_piece(std::span(room).first(cut)),
                                     tls_piece(std::span(room).subspan(cut))};
    const auto size = pair.server->read(in, skip);
    ASSERT_TRUE(size.ok()) << size.error().text;
    got.insert(got.end(), room.begin() + static_cast<std::ptrdiff_t>(skip),
               room.begin() + static_cast<std::ptrdiff_t>(skip + *size));
  }
  EXPECT_EQ(got, sent);
}

/// RFC 8446 5.5 bounds the number of records for one key. OpenSSL does not change keys by itself.
TEST(TlsSession, ChangesItsKeyAfterManyRecords) {
  TlsTerms of_client = tls_terms(TlsRole::kClient);
  of_client.records_per_key = 3;
  TlsPair pair(of_client);
  pair.shake_well();
  std::size_t records = 0;
  for (unsigned i = 0; i < 300; ++i) {
    const auto bytes = random_bytes(20, i);
    ASSERT_EQ(*write_bytes(*pair.client, bytes), bytes.size());
    records += records_of(pair.client->output()).size();
    deliver(*pair.client, *pair.server);
    const auto got = read_bytes(*pair.server, 100);
    ASSERT_TRUE(got.ok()) << i << ": " << got.error().text;
    EXPECT_EQ(*got, bytes);
    ASSERT_EQ(*write_bytes(*pair.server, bytes), bytes.size());
    deliver(*pair.server, *pair.client);
    ASSERT_EQ(*read_bytes(*pair.client, 100), bytes);
  }
  EXPECT_EQ(records, 300U + 99U) << "a KeyUpdate after every third record";
}

TEST(TlsSession, EndsInOrder) {
  TlsPair pair;
  pair.shake_well();
  ASSERT_EQ(*write_bytes(*pair.client, Bytes(10)), 10U);
  pair.client->close();
  pair.client->close();
  EXPECT_EQ(records_of(pair.client->output()).size(), 2U);
  deliver(*pair.client, *pair.server);
  EXPECT_EQ(read_bytes(*pair.server, 100)->size(), 10U);
  const auto end = read_bytes(*pair.server, 100);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().kind, ErrorKind::kConnection);
  EXPECT_EQ(end.error().text, "end of stream");
  EXPECT_EQ(pair.server->end_of_input("reset").text, "end of stream");
}

TEST(TlsSession, StillSendsAfterThePeersEnd) {
  TlsPair pair;
  pair.shake_well();
  pair.client->close();
  deliver(*pair.client, *pair.server);
  ASSERT_FALSE(read_bytes(*pair.server, 100).ok());
  const auto sent = random_bytes(100, 7);
  ASSERT_EQ(*write_bytes(*pair.server, sent), sent.size());
  deliver(*pair.server, *pair.client);
  EXPECT_EQ(*read_bytes(*pair.client, 100), sent);
}

TEST(TlsSession, TellsACutFromAnEnd) {
  TlsPair pair;
  EXPECT_THAT(pair.client->end_of_input("reset").text, HasSubstr("during the TLS handshake"));
  pair.shake_well();
  const Error cut = pair.client->end_of_input("reset");
  EXPECT_EQ(cut.kind, ErrorKind::kConnection);
  EXPECT_THAT(cut.text, HasSubstr("cut"));
  EXPECT_THAT(cut.text, HasSubstr("reset"));
}

}  // namespace
}  // namespace impishim::wire
