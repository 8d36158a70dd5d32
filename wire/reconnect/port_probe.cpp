// SPDX-License-Identifier: Apache-2.0
#include "wire/reconnect/port_probe.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

Result<PortProbe> PortProbe::start(const HostId& address, std::uint16_t port,
                                   const std::optional<HostId>& from) {
  const SocketAddress to = SocketAddress::of(address, port);
  Descriptor socket(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return Error{ErrorKind::kSystem, std::strerror(errno)};
  if (from) {
    const SocketAddress source = SocketAddress::of(*from, 0);
    if (source.family() == to.family() && bind(socket.get(), source.get(), source.size) != 0)
      return Error{ErrorKind::kConnection, std::strerror(errno)};
  }
  if (connect(socket.get(), to.get(), to.size) != 0 && errno != EINPROGRESS)
    return Error{ErrorKind::kConnection, std::strerror(errno)};
  return PortProbe(std::move(socket));
}

bool PortProbe::is_open() const {
  int error = 0;
  unsigned size = sizeof(error);
  if (getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return false;
  // A process that closes at once resets a connection that its machine has accepted.
  return error == 0 || error == ECONNRESET;
}

}  // namespace impishim::wire
