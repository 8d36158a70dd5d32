// SPDX-License-Identifier: Apache-2.0
#include "wire/reconnect/relayed_connection.hpp"

#include <poll.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/connect/link_handshake.hpp"
#include "wire/connect/link_socket.hpp"
#include "wire/relay/relay_dial.hpp"

namespace impishim::wire {

Result<RelayedConnection> RelayedConnection::start(const RelayPoint& relay, const LinkTerms& proof,
                                                   bool connects) {
  const std::int32_t own = connects ? proof.connector : proof.acceptor;
  const std::int32_t other = connects ? proof.acceptor : proof.connector;
  auto dial = RelayDial::start(relay.address, relay.token, own, other);
  if (!dial) return dial.error();
  return RelayedConnection(std::move(*dial), proof, connects);
}

pollfd RelayedConnection::polled() const {
  if (dial_) return dial_->polled();
  if (connector_) return connector_->polled();
  return {acceptance_->socket.get(), awaited_events(*acceptance_->handshake), 0};
}

Result<void> RelayedConnection::begin_proof() {
  Descriptor socket = dial_->take();
  dial_.reset();
  if (connects_) {
    auto connector = LinkConnector::over(std::move(socket), proof_);
    if (!connector) return connector.error();
    connector_.emplace(std::move(*connector));
    return {};
  }
  acceptance_ = std::make_unique<Acceptance>(std::move(socket), proof_);
  acceptance_->judge.claim = [expected = proof_.connector](std::int32_t number) {
    if (number == expected) return LinkJudgement{LinkJudgement::Kind::kProve, {}, {}, true};
    return LinkJudgement{
        LinkJudgement::Kind::kTurnAway, {}, "the relay has connected another host"};
  };
  // The relay pairs each of its connections once, and each proof has a fresh nonce of this end.
  acceptance_->judge.is_new = [](const LinkNonce& /*nonce*/) { return true; };
  acceptance_->handshake.emplace(&acceptance_->terms, acceptance_->judge);
  return {};
}

Result<bool> RelayedConnection::advance() {
  if (dial_) {
    auto dialled = dial_->advance();
    if (!dialled || !*dialled) return dialled;
    auto begun = begin_proof();
    if (!begun) return begun.error();
  }
  if (acceptance_) return wire::advance(acceptance_->socket.get(), *acceptance_->handshake);
  auto done = connector_->advance();
  if (!done || !connector_->must_decide()) return done;
  connector_->keep();
  return connector_->advance();
}

Descriptor RelayedConnection::take() {
  return acceptance_ ? std::move(acceptance_->socket) : connector_->take();
}

}  // namespace impishim::wire
