// SPDX-License-Identifier: Apache-2.0
/// Encrypted channels over connected sockets.
#pragma once

#include <poll.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire {

/// A socket that is to become an encrypted channel. No byte of the encrypted stream may have been
/// read from it.
struct TlsLink {
  Descriptor socket;
  TlsTerms terms;
  std::string peer_name;
  TcpOptions tcp{};  ///< of the channel
};

/// One handshake over a socket. No function blocks.
class TlsHandshake {
 public:
  /// Takes the link, and makes its socket non-blocking. Fails as TlsSession::make() does.
  [[nodiscard]] static Result<TlsHandshake> begin(TlsLink link);
  /// Does what is possible now. Fails as make_tls_channels() does.
  [[nodiscard]] Result<void> advance();
  /// Returns true if this end has nothing left to do.
  [[nodiscard]] bool over() const { return session_->done() && session_->output().empty(); }
  /// Returns what to pass to poll(2).
  [[nodiscard]] pollfd polled() const;
  [[nodiscard]] const std::string& peer_name() const { return link_.peer_name; }
  /// Returns the channel, once over().
  [[nodiscard]] Result<std::unique_ptr<Channel>> make_channel();

 private:
  TlsHandshake(TlsLink link, std::unique_ptr<TlsSession> session)
      : link_(std::move(link)), session_(std::move(session)) {}
  [[nodiscard]] Result<void> advance_session();
  [[nodiscard]] Result<void> send_output();
  [[nodiscard]] Result<bool> receive_input();

  TlsLink link_;
  std::unique_ptr<TlsSession> session_;
};

/// Does the handshakes of all links at once, and returns their channels in the same order. The
/// peers must do the same. What a peer sends behind its handshake is the first input of its
/// channel. Blocks at most `timeout_ms`. If one handshake fails, all sockets are closed. The error
/// names the peer. Its kind is kAuthentication (another key or channel), kProtocol (no TLS, damaged
/// records), kConnection (the peer has closed the connection), kTimeout, kConfiguration (no libssl)
/// or kSystem.
[[nodiscard]] Result<std::vector<std::unique_ptr<Channel>>> make_tls_channels(
    std::vector<TlsLink> links, int timeout_ms);

}  // namespace impishim::wire
