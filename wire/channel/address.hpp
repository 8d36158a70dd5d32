/// Internet addresses as IMPI carries them (IMPI 1.2.3).
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

/// "a.b.c.d", or IPv6 in its usual text form.
[[nodiscard]] std::string address_text(const HostId& address);
/// A numeric address or host name; kConfiguration if it names nothing. IPv4 becomes 12 zero bytes
/// and 4.
[[nodiscard]] Result<HostId> parse_address(const std::string& text);
/// The value `text` of the variable `variable`, which names this machine to others. kConfiguration,
/// with the variable's name: it names nothing, or no single machine (the wildcard, a broadcast or
/// multicast address).
[[nodiscard]] Result<HostId> parse_own_address(const std::string& variable,
                                               const std::string& text);
/// The address from which this machine reaches `server` ("address:port").
[[nodiscard]] Result<HostId> address_towards(const std::string& server);
/// The address by which other machines most probably reach this one: that of the interface with the
/// way to everywhere, or else the first one that is up and no loopback; IPv4 before IPv6. kSystem:
/// there is none.
[[nodiscard]] Result<HostId> address_for_others();
/// The addresses of all interfaces that are up, without loopback and those that hold on one link
/// only; IPv4 before IPv6. kSystem: the kernel does not tell.
[[nodiscard]] Result<std::vector<HostId>> addresses_of_interfaces();
/// "a.b.c.d:port" or "[IPv6]:port".
[[nodiscard]] std::string address_text(const HostId& address, std::uint16_t port);

/// "address:port", "[IPv6]:port" or "name:port" in its two parts. kConfiguration if it is none of
/// them.
[[nodiscard]] Result<std::pair<std::string, std::uint16_t>> split_address_and_port(
    const std::string& text);
/// A HostId that is an IPv4 address: 12 zero bytes, or the IPv4-mapped prefix, before it.
[[nodiscard]] bool is_ipv4(const HostId& address);
/// True for two forms of the same address.
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

}  // namespace impishim::wire
