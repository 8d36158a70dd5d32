// SPDX-License-Identifier: Apache-2.0
/// A connection to another host through the relay, from the dial to the proof.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/connect/link_handshake.hpp"
#include "wire/connect/link_socket.hpp"
#include "wire/relay/relay_dial.hpp"

namespace impishim::wire {

/// No function blocks.
class RelayedConnection {
 public:
  /// Dials. `proof` has the numbers of both ends: this host is the connector if it has the lower
  /// number, and the acceptor otherwise. Fails like RelayDial::start().
  [[nodiscard]] static Result<RelayedConnection> start(const RelayPoint& relay,
                                                       const LinkTerms& proof, bool connects);
  [[nodiscard]] pollfd polled() const;
  /// Continues after events. Returns true when the proof is complete and the socket can be taken.
  /// Fails as RelayDial and LinkHandshake do.
  [[nodiscard]] Result<bool> advance();
  [[nodiscard]] Descriptor take();

 private:
  /// The accepting end behind the relay.
  struct Acceptance {
    Acceptance(Descriptor socket_, const LinkTerms& terms_)
        : socket(std::move(socket_)), terms(terms_) {}
    Descriptor socket;
    LinkTerms terms;
    LinkJudge judge;
    std::optional<AcceptorHandshake> handshake;
  };
  RelayedConnection(RelayDial dial, const LinkTerms& proof, bool connects)
      : dial_(std::move(dial)), proof_(proof), connects_(connects) {}
  [[nodiscard]] Result<void> begin_proof();

  std::optional<RelayDial> dial_;
  LinkTerms proof_;
  bool connects_;
  std::optional<LinkConnector> connector_;
  std::unique_ptr<Acceptance> acceptance_;  ///< its handshake points into it
};

}  // namespace impishim::wire
