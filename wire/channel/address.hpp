// SPDX-License-Identifier: Apache-2.0
/// Internet addresses as IMPI carries them (IMPI 1.2.3).
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

/// Returns "a.b.c.d", or an IPv6 address in its usual text form.
[[nodiscard]] std::string address_text(const HostId& address);
/// Parses a numeric address or resolves a host name. An IPv4 address becomes 12 zero bytes and 4
/// bytes. Fails with kConfiguration if the name is unknown.
[[nodiscard]] Result<HostId> parse_address(const std::string& text);
/// Parses `text`, the value of the variable `variable`, as the address of this machine for others:
/// a numeric address, a host name, or the name of an interface, whose first address it is. Fails
/// with kConfiguration if it is unknown, or if it is not the address of a single machine (the
/// wildcard, a broadcast or a multicast address). The text names the variable.
[[nodiscard]] Result<HostId> parse_own_address(const std::string& variable,
                                               const std::string& text);
/// Parses several addresses of this machine, separated by commas, each as parse_own_address() does;
/// the first is the one that IMPI announces. An address that is named twice counts once. Fails with
/// kConfiguration if there are more than kMostAddresses.
[[nodiscard]] Result<std::vector<HostId>> parse_own_addresses(const std::string& variable,
                                                              const std::string& text);
inline constexpr std::size_t kMostAddresses = 8;
/// Returns the address from which this machine reaches `server` ("address:port").
[[nodiscard]] Result<HostId> address_towards(const std::string& server);
/// Returns the address at which other machines can most probably reach this one. This is the
/// address of the interface with the default route, or else of the first interface that is up and
/// is not a loopback. IPv4 comes before IPv6. Fails with kSystem if there is none.
[[nodiscard]] Result<HostId> address_for_others();
/// Returns the addresses of all interfaces that are up, without loopback and link-local addresses;
/// IPv4 comes before IPv6. Fails with kSystem if the kernel does not list them.
[[nodiscard]] Result<std::vector<HostId>> addresses_of_interfaces();
/// Returns "a.b.c.d:port" or "[IPv6]:port".
[[nodiscard]] std::string address_text(const HostId& address, std::uint16_t port);

/// Splits "address:port", "[IPv6]:port" or "name:port" into its two parts. Fails with
/// kConfiguration for any other form.
[[nodiscard]] Result<std::pair<std::string, std::uint16_t>> split_address_and_port(
    const std::string& text);
/// Returns true if `address` is an IPv4 address after 12 zero bytes or the IPv4-mapped prefix.
[[nodiscard]] bool is_ipv4(const HostId& address);
/// Returns true if `a` and `b` are the same address, possibly in two forms.
[[nodiscard]] bool same_address(const HostId& a, const HostId& b);

/// A socket address and its length, for bind, connect and getpeername.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
  [[nodiscard]] HostId host() const;
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] static SocketAddress of(const HostId& address, std::uint16_t port);
};

/// Returns a non-blocking TCP socket that listens at `here`, and stores the port there that the
/// kernel chose if it was 0. An invalid descriptor has its cause in errno.
[[nodiscard]] Descriptor listening_at(SocketAddress& here);

/// The same for every address of this machine. An IPv6 socket also accepts IPv4; if the kernel has
/// no IPv6, the socket is for IPv4 only.
[[nodiscard]] Descriptor listening_everywhere(std::uint16_t& port);

}  // namespace impishim::wire
