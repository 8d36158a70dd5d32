// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/host_listener.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/channel/address.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {
namespace {

std::optional<std::uint16_t> port_number(const std::string& text) {
  const auto port = parse_number<std::uint16_t>(text.c_str());
  return port && *port > 0 ? port : std::nullopt;
}

Error cannot_listen(const HostId& address, PortRange ports, int error) {
  const std::string where =
      ports.first == 0 ? address_text(address)
      : ports.first == ports.last
          ? address_text(address, ports.first)
          : fmt::format("{}, ports {} to {}", address_text(address), ports.first, ports.last);
  std::string cure = "set IMPISHIM_HOST_ADDRESS to an address of this machine";
  if (error == EADDRINUSE) {
    cure =
        "each host of this machine needs one port; give IMPISHIM_PORT a wider range, or set "
        "IMPISHIM_HOST_PROCS=node";
  } else if (error == EACCES) {
    cure = "give IMPISHIM_PORT a port above 1023";
  }
  return {ErrorKind::kConfiguration,
          fmt::format("cannot listen on {}: {}; {}", where, std::strerror(error), cure)};
}

}  // namespace

Result<PortRange> PortRange::parse(const std::string& variable, const std::string& text) {
  const auto dash = text.find('-');
  const auto first = port_number(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : port_number(text.substr(dash + 1));
  if (first && last && *first <= *last) return PortRange{*first, *last};
  return Error{ErrorKind::kConfiguration,
               fmt::format("{}={}: a port from 1 to 65535 is needed, or a range as in 4711-4719",
                           variable, text)};
}

std::pair<int, HostId> HostListener::listen_at(const std::vector<HostId>& addresses,
                                               std::uint16_t port) {
  sockets_.clear();
  port_ = port;
  for (const HostId& each : addresses) {
    SocketAddress here = SocketAddress::of(each, port_);
    Descriptor socket = listening_at(here);
    if (!socket.valid()) return {errno, each};
    // The kernel chooses for the first address; the others must follow.
    port_ = here.port();
    sockets_.push_back(std::move(socket));
  }
  return {};
}

Result<HostListener> HostListener::open(const std::vector<HostId>& addresses, PortRange ports) {
  // Tries with ports that the kernel chooses.
  constexpr int kAttempts = 16;
  HostListener listener;
  listener.address_ = addresses.front();
  std::pair<int, HostId> failure;
  const int last = ports.first == 0 ? kAttempts - 1 : ports.last - ports.first;
  for (int attempt = 0; attempt <= last; ++attempt) {
    failure = listener.listen_at(
        addresses, static_cast<std::uint16_t>(ports.first == 0 ? 0 : ports.first + attempt));
    if (failure.first == 0) return listener;
    if (failure.first != EADDRINUSE) break;
  }
  return cannot_listen(failure.second, ports, failure.first);
}

}  // namespace impishim::wire
