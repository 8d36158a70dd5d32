// SPDX-License-Identifier: Apache-2.0
/// One end of a handshake, played by a test.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"
#include "wire/base/bytes.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/connect/link_handshake.hpp"
#include "wire/connect/link_socket.hpp"

namespace impishim::wire::test {

/// Drives `handshake` over `socket` to its end.
inline Result<void> complete(const Descriptor& socket, LinkHandshake& handshake) {
  for (;;) {
    auto done = advance(socket.get(), handshake);
    if (!done) return done.error();
    if (*done) return {};
    pollfd state{socket.get(), awaited_events(handshake), 0};
    if (poll(&state, 1, kLongMs) <= 0) return late();
  }
}

/// Connects as a process that knows `terms`.
inline Result<void> prove(const Descriptor& socket, const LinkTerms& terms) {
  auto handshake = ConnectorHandshake::prove(terms);
  if (!handshake) return handshake.error();
  return complete(socket, *handshake);
}

inline std::vector<std::byte> bytes_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

/// The first message of a process that knows `terms`, fresh each time.
inline std::vector<std::byte> hello_of(const LinkTerms& terms) {
  auto handshake = ConnectorHandshake::prove(terms);
  EXPECT_TRUE(handshake.ok());
  return bytes_of(handshake->output());
}

inline void say(const Descriptor& socket, std::span<const std::byte> bytes) {
  EXPECT_EQ(send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

/// Exactly `size` bytes, or fewer if the peer closes before.
inline std::vector<std::byte> hear(const Descriptor& socket, std::size_t size) {
  std::vector<std::byte> bytes(size);
  const ssize_t got = recv(socket.get(), bytes.data(), size, MSG_WAITALL);
  bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return bytes;
}

/// The verdict with which the acceptor closes; 0 if it goes on, or closes without one.
inline std::uint32_t verdict(const Descriptor& socket) {
  const auto bytes = hear(socket, LinkHandshake::kVerdictSize);
  return bytes.size() == LinkHandshake::kVerdictSize ? load_big_endian<std::uint32_t>(bytes.data())
                                                     : 0;
}

}  // namespace impishim::wire::test
