/// A socket and the handshake (LinkHandshake) that runs over it, at the connecting end; and what
/// both ends do alike.
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

/// What poll(2) shall wait for. `handshake` is not done.
[[nodiscard]] short awaited_events(const LinkHandshake& handshake);

/// Sends and receives what `handshake` has and wants, without waiting, and never a byte beyond.
/// True: it is done. Errors: those of the handshake, whose last words have been sent then;
/// kConnection: the peer has closed, or the socket failed.
[[nodiscard]] Result<bool> advance(int socket, LinkHandshake& handshake);

/// A connection that this process makes, from the first SYN to the end of the handshake. Nothing
/// blocks.
class LinkConnector {
 public:
  /// Where to, from where (none: the kernel's choice), and what to say there.
  struct Target {
    HostId address{};
    std::uint16_t port = 0;
    std::optional<HostId> from;
    std::int32_t number = 0;           ///< of this end, said to a foreign acceptor
    const LinkTerms* terms = nullptr;  ///< null: the acceptor is foreign
  };

  /// Begins. kConfiguration: `from` is no address of this machine. Errors of other kinds may pass:
  /// try again.
  [[nodiscard]] static Result<LinkConnector> start(const Target& target);
  [[nodiscard]] pollfd polled() const;
  /// After events. True: it is over, and the socket can be taken. Errors: as advance(); kAborted:
  /// the acceptor refuses.
  [[nodiscard]] Result<bool> advance();
  [[nodiscard]] Descriptor take() { return std::move(socket_); }
  /// The acceptor's machine has taken the connection.
  [[nodiscard]] bool connected() const { return connected_; }
  /// The acceptor's machine has said that no process listens there.
  [[nodiscard]] bool port_is_closed() const;

 private:
  explicit LinkConnector(ConnectorHandshake handshake) : handshake_(std::move(handshake)) {}

  Descriptor socket_;
  ConnectorHandshake handshake_;
  bool connected_ = false;  ///< by TCP
  int connect_error_ = 0;
};

}  // namespace impishim::wire
