// SPDX-License-Identifier: Apache-2.0
#include "wire/check/socket_facts.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/channel/address.hpp"
#include "wire/check/facts.hpp"
#include "wire/check/report/report.hpp"

namespace impishim::check {
namespace {

/// Returns the MTU of the path, as far as the kernel has learnt it; 0 if it does not tell.
std::int64_t path_mtu(int socket, int family) {
  int mtu = 0;
  socklen_t size = sizeof(mtu);
  const int status = family == AF_INET6 ? getsockopt(socket, IPPROTO_IPV6, IPV6_MTU, &mtu, &size)
                                        : getsockopt(socket, IPPROTO_IP, IP_MTU, &mtu, &size);
  return status == 0 ? mtu : 0;
}

}  // namespace

void describe_socket(const Descriptor& socket, const std::vector<Interface>& interfaces,
                     Road& road) {
  wire::SocketAddress local;
  wire::SocketAddress remote;
  if (getsockname(socket.get(), local.get(), &local.size) != 0 ||
      getpeername(socket.get(), remote.get(), &remote.size) != 0)
    return;
  road.local = wire::address_text(local.host(), local.port());
  road.remote = wire::address_text(remote.host(), remote.port());
  const Interface own = interface_of(interfaces, local.host());
  road.interface = own.name;
  road.mtu = own.mtu;
  road.path_mtu = path_mtu(socket.get(), local.family());
  std::array<char, 32> name{};
  socklen_t size = name.size() - 1;
  if (getsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &size) == 0)
    road.congestion = name.data();
}

}  // namespace impishim::check
