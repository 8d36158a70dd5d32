// SPDX-License-Identifier: Apache-2.0
/// A socket with the handshake (LinkHandshake) that runs over it, at the connecting end, and the
/// functions that both ends share.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/connect/link_handshake.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

/// Returns the events to pass to poll(2). `handshake` must not be done.
[[nodiscard]] short awaited_events(const LinkHandshake& handshake);

/// Sends and receives what `handshake` requests, without blocking and without reading further
/// bytes. Returns true if the handshake is done. Fails as the handshake does, after sending its
/// last output. Fails with kConnection if the peer has closed or the socket has failed.
[[nodiscard]] Result<bool> advance(int socket, LinkHandshake& handshake);

/// A connection that this process makes, from the first SYN to the end of the handshake. No
/// function blocks.
class LinkConnector {
 public:
  /// The acceptor, and this end's identity. Without `from`, the kernel chooses the source address.
  struct Target {
    HostId address{};
    std::uint16_t port = 0;
    std::optional<HostId> from;
    std::int32_t number = 0;           ///< of this end, sent to a foreign acceptor
    const LinkTerms* terms = nullptr;  ///< null if the acceptor is foreign
  };

  /// Starts a connection. Fails with kConfiguration if `from` does not belong to this machine.
  /// Other errors may be temporary, and the caller can try again.
  [[nodiscard]] static Result<LinkConnector> start(const Target& target);
  /// Uses a connection to a process of the job, from the handshake on.
  [[nodiscard]] static Result<LinkConnector> over(Descriptor socket, const LinkTerms& terms);
  [[nodiscard]] pollfd polled() const;
  /// Continues after events. Returns true when the handshake is done and the socket can be taken.
  /// Fails as wire::advance() does, and with kAborted if the acceptor refuses.
  [[nodiscard]] Result<bool> advance();
  /// These are as in ConnectorHandshake. After keep(), call advance().
  [[nodiscard]] std::optional<Refusal> refusal() const { return handshake_.refusal(); }
  [[nodiscard]] bool must_decide() const { return handshake_.must_decide(); }
  void keep() { handshake_.keep(); }
  [[nodiscard]] Descriptor take() { return std::move(socket_); }
  /// Returns true if the acceptor's machine has accepted the TCP connection.
  [[nodiscard]] bool connected() const { return connected_; }
  /// Returns true if the acceptor's machine has answered that no process listens at the port.
  [[nodiscard]] bool port_is_closed() const;

 private:
  explicit LinkConnector(ConnectorHandshake handshake) : handshake_(std::move(handshake)) {}

  Descriptor socket_;
  ConnectorHandshake handshake_;
  bool connected_ = false;  ///< true if TCP is connected
  int connect_error_ = 0;
};

}  // namespace impishim::wire
