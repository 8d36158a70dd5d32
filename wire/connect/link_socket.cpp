// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/link_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/connect/link_handshake.hpp"

namespace impishim::wire {
namespace {

Error connection_error(int error) { return {ErrorKind::kConnection, std::strerror(error)}; }

/// Sends pending output. Returns true if all of it has left.
Result<bool> flush(int socket, LinkHandshake& handshake) {
  while (!handshake.output().empty()) {
    const auto bytes = handshake.output();
    const ssize_t size = send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0) return would_block(errno) ? Result<bool>(false) : connection_error(errno);
    handshake.sent(static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace

short awaited_events(const LinkHandshake& handshake) {
  return static_cast<short>(handshake.output().empty() ? POLLIN : POLLIN | POLLOUT);
}

Result<bool> advance(int socket, LinkHandshake& handshake) {
  for (;;) {
    auto flushed = flush(socket, handshake);
    if (!flushed) return flushed.error();
    const auto room = handshake.room();
    if (handshake.done() || room.empty()) return handshake.done();
    const ssize_t size = recv(socket, room.data(), room.size(), MSG_DONTWAIT);
    if (size < 0) return would_block(errno) ? Result<bool>(false) : connection_error(errno);
    if (size == 0) return Error{ErrorKind::kConnection, "it closed the connection"};
    auto went_on = handshake.filled(static_cast<std::size_t>(size));
    if (!went_on) {
      // The reason is sent if possible; a peer that does not read it simply does not get it.
      static_cast<void>(flush(socket, handshake));
      return went_on.error();
    }
  }
}

Result<LinkConnector> LinkConnector::start(const Target& target) {
  auto handshake = target.terms != nullptr ? ConnectorHandshake::prove(*target.terms)
                                           : Result(ConnectorHandshake(target.number));
  if (!handshake) return handshake.error();
  LinkConnector made(std::move(*handshake));
  const SocketAddress to = SocketAddress::of(target.address, target.port);
  made.socket_ = Descriptor(socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.socket_.valid()) return connection_error(errno);
  if (target.from) {
    const SocketAddress from = SocketAddress::of(*target.from, 0);
    if (from.family() == to.family() && bind(made.socket_.get(), from.get(), from.size) != 0) {
      const ErrorKind kind =
          errno == EADDRNOTAVAIL ? ErrorKind::kConfiguration : ErrorKind::kConnection;
      return Error{
          kind,
          fmt::format(
              "cannot connect from {}, the advertised address: {}; set IMPISHIM_HOST_ADDRESS to an "
              "address of this machine",
              address_text(*target.from), std::strerror(errno))};
    }
  }
  if (::connect(made.socket_.get(), to.get(), to.size) != 0 && errno != EINPROGRESS)
    made.connect_error_ = errno;
  return made;
}

Result<LinkConnector> LinkConnector::over(Descriptor socket, const LinkTerms& terms) {
  auto handshake = ConnectorHandshake::prove(terms);
  if (!handshake) return handshake.error();
  LinkConnector made(std::move(*handshake));
  made.socket_ = std::move(socket);
  made.connected_ = true;
  return made;
}

bool LinkConnector::port_is_closed() const { return connect_error_ == ECONNREFUSED; }

pollfd LinkConnector::polled() const {
  return {socket_.get(), connected_ ? awaited_events(handshake_) : static_cast<short>(POLLOUT), 0};
}

Result<bool> LinkConnector::advance() {
  if (!connected_) {
    socklen_t size = sizeof(connect_error_);
    if (connect_error_ == 0)
      getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &connect_error_, &size);
    // A peer that closes at once resets a connection that it has accepted.
    connected_ = connect_error_ == 0 || connect_error_ == ECONNRESET;
    if (connect_error_ != 0) return connection_error(connect_error_);
  }
  return wire::advance(socket_.get(), handshake_);
}

}  // namespace impishim::wire
