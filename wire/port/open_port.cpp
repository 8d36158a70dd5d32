// SPDX-License-Identifier: Apache-2.0
#include "wire/port/open_port.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/accept_rest.hpp"
#include "wire/channel/address.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/connect/link_acceptor.hpp"
#include "wire/connect/link_handshake.hpp"
#include "wire/connect/link_socket.hpp"
#include "wire/packet/packet.hpp"
#include "wire/port/conversation.hpp"
#include "wire/port/port_name.hpp"

namespace impishim::wire {
namespace {

/// Numbers of the two ends in their proofs.
constexpr std::int32_t kAcceptor = 0;
constexpr std::int32_t kConnector = 1;
constexpr int kAttempts = 10;

LinkTerms terms_of(const PortName& name) {
  return {name.secret, LinkPurpose::kPort, kConnector, kAcceptor};
}

Error poll_failed() {
  return {ErrorKind::kSystem, fmt::format("poll failed: {}", std::strerror(errno))};
}

/// Waits until the connection is made and proven, or has failed.
Result<Descriptor> finish(LinkConnector& connector) {
  for (;;) {
    auto done = connector.advance();
    if (!done) return done.error();
    if (*done) return connector.take();
    pollfd polled = connector.polled();
    if (poll(&polled, 1, -1) < 0 && errno != EINTR) return poll_failed();
  }
}

}  // namespace

Result<std::unique_ptr<OpenPort>> OpenPort::open(const HostId& address, PortRange ports) {
  auto listener = HostListener::open(address, ports);
  if (!listener) return listener.error();
  auto secret = JobSecret::random();
  if (!secret) return secret.error();
  PortName name{address, listener->port(), *secret};
  return std::make_unique<OpenPort>(std::move(*listener), std::move(name));
}

OpenPort::OpenPort(HostListener listener, PortName name)
    : name_(std::move(name)),
      listener_(std::move(listener)),
      acceptor_(listener_.sockets(), acceptor_options()) {}

LinkAcceptor::Options OpenPort::acceptor_options() {
  LinkAcceptor::Options options;
  options.log_prefix = "port: ";
  options.terms = terms_of(name_);
  options.judge = [](std::int32_t number, const SocketAddress& /*from*/) -> LinkJudgement {
    if (number == kConnector) return {LinkJudgement::Kind::kProve, {}, {}};
    return {LinkJudgement::Kind::kTurnAway, {}, "it is no MPI_Comm_connect of this library"};
  };
  options.take = [this](std::int32_t /*number*/, Descriptor socket) {
    ready_.push_back(std::move(socket));
  };
  return options;
}

Result<std::optional<PortConnection>> OpenPort::accept(int watched) {
  const MutexLock lock(mutex_);
  while (ready_.empty()) {
    std::vector<pollfd> polled;
    acceptor_.append_polled(polled);
    polled.push_back({watched, POLLIN, 0});
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(AcceptRest::kRest);
    if (poll(polled.data(), polled.size(), static_cast<int>(rest.count())) < 0) {
      if (errno == EINTR) continue;
      return poll_failed();
    }
    acceptor_.handle(std::span(polled).first(polled.size() - 1));
    if (ready_.empty() && polled.back().revents != 0) return std::optional<PortConnection>();
  }
  Descriptor socket = std::move(ready_.front());
  ready_.pop_front();
  return std::optional(PortConnection{Conversation(std::move(socket), true), name_.secret});
}

Result<PortConnection> connect_to_port(const PortName& name) {
  const LinkTerms terms = terms_of(name);
  for (int attempt = 1;; ++attempt) {
    auto connector =
        LinkConnector::start({name.address, name.port, std::nullopt, kConnector, &terms});
    if (!connector) return connector.error();
    auto socket = finish(*connector);
    if (socket) return PortConnection{Conversation(std::move(*socket), false), name.secret};
    const Error& error = socket.error();
    // A process that accepts seldom may have closed a connection that had waited for long.
    const bool again = error.kind == ErrorKind::kConnection && connector->connected();
    if (!again || attempt == kAttempts) {
      return Error{error.kind, fmt::format("no connection with the port at {}: {}",
                                           address_text(name.address, name.port), error.text)};
    }
  }
}

}  // namespace impishim::wire
