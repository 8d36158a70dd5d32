// SPDX-License-Identifier: Apache-2.0
/// Plain TCP sockets on loopback, for tests that play a peer by hand.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstdint>
#include <utility>

#include "wire/base/bytes.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/channel/address.hpp"

namespace impishim::wire::test {

inline HostId host_id(const std::string& text) {
  auto parsed = parse_address(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed ? *parsed : HostId{};
}

/// A blocking socket connected from `from` to `to`; reads give up after half a minute.
inline Descriptor connect_by_hand(const HostId& from, const HostId& to, std::uint16_t port) {
  SocketAddress source = SocketAddress::of(from, 0);
  SocketAddress target = SocketAddress::of(to, port);
  Descriptor socket(::socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval bound{30, 0};
  EXPECT_EQ(setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof(bound)), 0);
  EXPECT_EQ(bind(socket.get(), source.get(), source.size), 0);
  EXPECT_EQ(connect(socket.get(), target.get(), target.size), 0);
  return socket;
}

/// Bound to a port of the kernel's choice on `address`; listening if `listening`.
inline std::pair<Descriptor, std::uint16_t> bound_socket(const HostId& address, bool listening) {
  SocketAddress here = SocketAddress::of(address, 0);
  Descriptor socket(::socket(here.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(bind(socket.get(), here.get(), here.size), 0);
  EXPECT_TRUE(!listening || listen(socket.get(), 16) == 0);
  EXPECT_EQ(getsockname(socket.get(), here.get(), &here.size), 0);
  return {std::move(socket), here.port()};
}

inline std::pair<Descriptor, Descriptor> connected_pair(const std::string& address) {
  auto [listener, port] = bound_socket(host_id(address), true);
  Descriptor left = connect_by_hand(host_id(address), host_id(address), port);
  Descriptor right(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(right.valid());
  return {std::move(left), std::move(right)};
}

inline void say_rank(const Descriptor& socket, std::int32_t rank) {
  std::array<std::byte, 4> bytes{};
  store_big_endian(bytes.data(), rank);
  EXPECT_EQ(send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 4);
}

/// True once the other side has closed or reset the connection without a byte of its own.
inline bool was_turned_away(const Descriptor& socket) {
  char byte = 0;
  const ssize_t size = recv(socket.get(), &byte, 1, 0);
  return size == 0 || (size < 0 && errno == ECONNRESET);
}

}  // namespace impishim::wire::test
