// SPDX-License-Identifier: Apache-2.0
/// What the tests of encrypted connections share: two sessions, and the bytes between them.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/tls/tls_handshake.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire::test {

using Bytes = std::vector<std::byte>;

inline TlsTerms tls_terms(TlsRole role, const std::string& identity = "job 1: host 3 to host 0",
                          std::byte key = std::byte{7}) {
  TlsTerms terms;
  terms.role = role;
  terms.identity = identity;
  terms.key.fill(key);
  return terms;
}

inline std::unique_ptr<TlsSession> tls_session(const TlsTerms& terms) {
  auto made = TlsSession::make(terms);
  EXPECT_TRUE(made.ok()) << made.error().text;
  return made ? std::move(*made) : nullptr;
}

inline Bytes take_output(TlsSession& session) {
  Bytes bytes(session.output().begin(), session.output().end());
  session.remove_output(bytes.size());
  return bytes;
}

/// Moves as much of the output of `from` to `to` as there is room for.
inline void deliver(TlsSession& from, TlsSession& to) {
  from.remove_output(to.feed(from.output()));
}

/// Both ends of a connection without sockets.
struct TlsPair {
  std::unique_ptr<TlsSession> client;
  std::unique_ptr<TlsSession> server;

  explicit TlsPair(const TlsTerms& of_client = tls_terms(TlsRole::kClient),
                   const TlsTerms& of_server = tls_terms(TlsRole::kServer))
      : client(tls_session(of_client)), server(tls_session(of_server)) {}

  /// Does the handshake. Returns the first error of each end.
  std::pair<Result<void>, Result<void>> shake() {
    std::pair<Result<void>, Result<void>> results;
    for (int i = 0; i < 4; ++i) {
      if (results.first.ok()) results.first = client->advance_handshake();
      deliver(*client, *server);
      if (results.second.ok()) results.second = server->advance_handshake();
      deliver(*server, *client);
    }
    return results;
  }
  void shake_well() {
    const auto [of_client, of_server] = shake();
    ASSERT_TRUE(of_client.ok()) << of_client.error().text;
    ASSERT_TRUE(of_server.ok()) << of_server.error().text;
    ASSERT_TRUE(client->done() && server->done());
  }
};

inline iovec tls_piece(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()),
          bytes.size()};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

inline Result<std::size_t> write_bytes(TlsSession& session, std::span<const std::byte> bytes) {
  const iovec one = tls_piece(bytes);
  return session.write(std::span(&one, 1));
}

/// Reads once into `size` bytes of room.
inline Result<Bytes> read_bytes(TlsSession& session, std::size_t size) {
  Bytes room(size);
  const iovec one = tls_piece(room);
  auto got = session.read(std::span(&one, 1));
  if (!got) return got.error();
  room.resize(*got);
  return room;
}

/// Splits ciphertext at the borders of its records.
inline std::vector<Bytes> records_of(std::span<const std::byte> bytes) {
  std::vector<Bytes> records;
  while (bytes.size() >= 5) {
    const std::size_t size =
        5 + (std::to_integer<std::size_t>(bytes[3]) << 8U | std::to_integer<std::size_t>(bytes[4]));
    records.emplace_back(bytes.begin(),
                         bytes.begin() + static_cast<std::ptrdiff_t>(std::min(size, bytes.size())));
    bytes = bytes.subspan(std::min(size, bytes.size()));
  }
  return records;
}

inline std::pair<Descriptor, Descriptor> local_pair() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Makes encrypted channels of both ends of a connection: that of the client is first.
inline std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> tls_channels(
    std::pair<Descriptor, Descriptor> sockets) {
  std::vector<TlsLink> links;
  links.push_back({std::move(sockets.first), tls_terms(TlsRole::kClient), "host 0"});
  links.push_back({std::move(sockets.second), tls_terms(TlsRole::kServer), "host 3"});
  auto made = make_tls_channels(std::move(links), 30000);
  EXPECT_TRUE(made.ok()) << made.error().text;
  if (!made) return {};
  return {std::move((*made)[0]), std::move((*made)[1])};
}

}  // namespace impishim::wire::test
