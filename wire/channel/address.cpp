// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {
namespace {

constexpr std::size_t kIpv4At = 12;
constexpr std::array<std::byte, kIpv4At> kMapped = {
    std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},    std::byte{0},
    std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0xff}, std::byte{0xff}};

bool all_zero(const std::byte* begin, std::size_t size) {
  return std::all_of(begin, begin + size, [](std::byte b) { return b == std::byte{0}; });
}

/// Returns true for ::1, which also begins with twelve zero bytes. 0.0.0.1 is not the address of
/// any machine.
bool is_ipv6_loopback(const HostId& address) {
  return all_zero(address.data(), 15) && address[15] == std::byte{1};
}

HostId ipv4_part(const HostId& address) {
  HostId plain{};
  std::copy(address.begin() + kIpv4At, address.end(), plain.begin() + kIpv4At);
  return plain;
}

}  // namespace

bool is_ipv4(const HostId& address) {
  if (std::equal(kMapped.begin(), kMapped.end(), address.begin())) return true;
  return all_zero(address.data(), kIpv4At) && !is_ipv6_loopback(address) &&
         !all_zero(address.data(), address.size());
}

bool same_address(const HostId& a, const HostId& b) {
  if (is_ipv4(a) && is_ipv4(b)) return ipv4_part(a) == ipv4_part(b);
  return a == b;
}

HostId SocketAddress::host() const {
  HostId address{};
  if (storage.ss_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&storage);
    std::memcpy(address.data() + kIpv4At, &in->sin_addr, sizeof(in->sin_addr));
  } else if (storage.ss_family == AF_INET6) {
    const auto* in6 = reinterpret_cast<const sockaddr_in6*>(&storage);
    std::memcpy(address.data(), &in6->sin6_addr, address.size());
    if (is_ipv4(address)) address = ipv4_part(address);
  }
  return address;
}

std::uint16_t SocketAddress::port() const {
  if (storage.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
}

SocketAddress SocketAddress::of(const HostId& address, std::uint16_t port) {
  SocketAddress made;
  if (is_ipv4(address)) {
    auto* in = reinterpret_cast<sockaddr_in*>(&made.storage);
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    std::memcpy(&in->sin_addr, address.data() + kIpv4At, sizeof(in->sin_addr));
    made.size = sizeof(sockaddr_in);
  } else {
    auto* in6 = reinterpret_cast<sockaddr_in6*>(&made.storage);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    std::memcpy(&in6->sin6_addr, address.data(), address.size());
    made.size = sizeof(sockaddr_in6);
  }
  return made;
}

std::string address_text(const HostId& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_ipv4(address)) {
    inet_ntop(AF_INET, address.data() + kIpv4At, text.data(), text.size());
  } else {
    inet_ntop(AF_INET6, address.data(), text.data(), text.size());
  }
  return text.data();
}

std::string address_text(const HostId& address, std::uint16_t port) {
  const std::string host = address_text(address);
  return is_ipv4(address) ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Result<HostId> parse_address(const std::string& text) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(text.c_str(), nullptr, &hints, &found);
  if (code != 0) {
    return Error{
        ErrorKind::kConfiguration,
        fmt::format("\"{}\" is no address and no known host name: {}", text, gai_strerror(code))};
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  SocketAddress address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  return address.host();
}

namespace {

/// Returns true if `address` is the broadcast address of one of this machine's networks.
Result<bool> is_broadcast_of_interface(const HostId& address) {
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) {
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot list this machine's addresses: {}", std::strerror(errno))};
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(interfaces, freeifaddrs);
  bool its_own = false;
  bool broadcast = false;
  for (const ifaddrs* each = interfaces; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    SocketAddress here;
    std::memcpy(&here.storage, each->ifa_addr, sizeof(sockaddr_in));
    its_own = its_own || same_address(here.host(), address);
    if ((each->ifa_flags & IFF_BROADCAST) == 0 || each->ifa_broadaddr == nullptr) continue;
    std::memcpy(&here.storage, each->ifa_broadaddr, sizeof(sockaddr_in));
    broadcast = broadcast || same_address(here.host(), address);
  }
  // A network of one address, as containers have it, is its own broadcast address.
  return broadcast && !its_own;
}

/// Returns the kind of an address that does not belong to a single machine, or an empty text if it
/// may.
Result<std::string> kind_of_many(const HostId& address) {
  if (all_zero(address.data(), address.size())) return std::string("the wildcard address");
  if (!is_ipv4(address))
    return std::string(address[0] == std::byte{0xff} ? "a multicast address" : "");
  if (all_zero(address.data() + kIpv4At, 4)) return std::string("the wildcard address");
  const auto first = std::to_integer<unsigned>(address[kIpv4At]);
  if (first >= 224 && first < 240) return std::string("a multicast address");
  if (std::all_of(address.begin() + kIpv4At, address.end(),
                  [](std::byte b) { return b == std::byte{0xff}; })) {
    return std::string("the broadcast address");
  }
  auto broadcast = is_broadcast_of_interface(address);
  if (!broadcast) return broadcast.error();
  return std::string(*broadcast ? "a broadcast address" : "");
}

}  // namespace

namespace {

/// Returns true for a link-local IPv6 address, which is meaningless without the name of the link.
bool is_of_link(const HostId& host, int family) {
  return family == AF_INET6 && host[0] == std::byte{0xfe} &&
         (host[1] & std::byte{0xc0}) == std::byte{0x80};
}

/// Returns the addresses of the interfaces that are up and that `wanted` accepts, without
/// link-local ones; IPv4 comes before IPv6.
template <class Wanted>
Result<std::vector<HostId>> addresses_of(const Wanted& wanted) {
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) {
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot list this machine's addresses: {}", std::strerror(errno))};
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(interfaces, freeifaddrs);
  std::vector<HostId> found;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* each = interfaces; each != nullptr; each = each->ifa_next) {
      if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != family) continue;
      if ((each->ifa_flags & IFF_UP) == 0 || !wanted(*each)) continue;
      SocketAddress address;
      std::memcpy(&address.storage, each->ifa_addr,
                  family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
      if (!is_of_link(address.host(), family)) found.push_back(address.host());
    }
  }
  return found;
}

Result<HostId> address_of_interface(const std::string& name) {
  auto found = addresses_of([&](const ifaddrs& each) { return name == each.ifa_name; });
  if (!found) return found.error();
  if (!found->empty()) return found->front();
  return Error{ErrorKind::kConfiguration,
               fmt::format("the interface {} is down or has no address", name)};
}

}  // namespace

Result<std::vector<HostId>> addresses_of_interfaces() {
  return addresses_of([](const ifaddrs& each) { return (each.ifa_flags & IFF_LOOPBACK) == 0; });
}

Result<HostId> parse_own_address(const std::string& variable, const std::string& text) {
  auto address =
      if_nametoindex(text.c_str()) != 0 ? address_of_interface(text) : parse_address(text);
  if (!address)
    return Error{address.error().kind, fmt::format("{}: {}", variable, address.error().text)};
  auto many = kind_of_many(*address);
  if (!many) return many.error();
  if (many->empty()) return *address;
  return Error{
      ErrorKind::kConfiguration,
      fmt::format("{}={}: that is {}, which names no single machine: set it to the address "
                  "at which others reach this one",
                  variable, text, *many)};
}

Result<std::vector<HostId>> parse_own_addresses(const std::string& variable,
                                                const std::string& text) {
  std::vector<HostId> addresses;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    auto address = parse_own_address(variable, text.substr(begin, end - begin));
    if (!address) return address.error();
    const bool known = std::ranges::any_of(
        addresses, [&](const HostId& each) { return same_address(each, *address); });
    if (!known) addresses.push_back(*address);
    begin = end + 1;
  }
  if (addresses.size() <= kMostAddresses) return addresses;
  return Error{ErrorKind::kConfiguration,
               fmt::format("{}={}: {} addresses; at most {} can be told to the other hosts",
                           variable, text, addresses.size(), kMostAddresses)};
}

Result<std::pair<std::string, std::uint16_t>> split_address_and_port(const std::string& text) {
  const Error bad{
      ErrorKind::kConfiguration,
      fmt::format("\"{}\" is not of the form address:port (IPv6: [address]:port)", text)};
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad;
  std::string host = text.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return bad;
  }
  unsigned port = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, port);
  if (parsed.ec != std::errc() || parsed.ptr != end || port == 0 || port > 65535 || host.empty())
    return bad;
  return std::make_pair(host, static_cast<std::uint16_t>(port));
}

Result<HostId> address_towards(const std::string& server) {
  auto parts = split_address_and_port(server);
  if (!parts) return parts.error();
  auto host = parse_address(parts->first);
  if (!host) return host.error();
  const SocketAddress there = SocketAddress::of(*host, parts->second);
  // Connecting a datagram socket sends nothing. It only asks the kernel for the route.
  const Descriptor probe(socket(there.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  SocketAddress here;
  if (!probe.valid() || connect(probe.get(), there.get(), there.size) != 0 ||
      getsockname(probe.get(), here.get(), &here.size) != 0) {
    return Error{
        ErrorKind::kSystem,
        fmt::format(
            "there is no route to {}: {}; set IMPISHIM_HOST_ADDRESS to this machine's address",
            server, std::strerror(errno))};
  }
  return here.host();
}

Result<HostId> address_for_others() {
  // Documentation addresses belong to no machine, so the kernel uses the default route for them.
  for (const char* anywhere : {"192.0.2.1:9", "[2001:db8::1]:9"}) {
    auto address = address_towards(anywhere);
    if (address) return address;
  }
  auto addresses = addresses_of_interfaces();
  if (!addresses) return addresses.error();
  if (!addresses->empty()) return addresses->front();
  return Error{ErrorKind::kSystem, "no network interface of this machine but the loopback is up"};
}

Descriptor listening_at(SocketAddress& here) {
  constexpr int kBacklog = 1024;
  Descriptor socket(::socket(here.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // A port that the user names may still be in use by closed connections of the last job.
  const int on = 1;
  if (socket.valid() && here.port() != 0)
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const int off = 0;
  if (socket.valid() && here.family() == AF_INET6 && here.host() == HostId{})
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (socket.valid() && bind(socket.get(), here.get(), here.size) == 0 &&
      listen(socket.get(), kBacklog) == 0 &&
      getsockname(socket.get(), here.get(), &here.size) == 0) {
    return socket;
  }
  const int error = errno;
  socket.reset();
  errno = error;
  return socket;
}

Descriptor listening_everywhere(std::uint16_t& port) {
  SocketAddress here;
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&here.storage);
  in6->sin6_family = AF_INET6;
  in6->sin6_port = htons(port);
  here.size = sizeof(sockaddr_in6);
  Descriptor socket = listening_at(here);
  if (!socket.valid() && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
    here = SocketAddress::of(HostId{}, port);
    socket = listening_at(here);
  }
  if (socket.valid()) port = here.port();
  return socket;
}

}  // namespace impishim::wire
