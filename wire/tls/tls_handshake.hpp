// SPDX-License-Identifier: Apache-2.0
/// Encrypted channels over connected sockets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire {

/// A socket that is to become an encrypted channel. No byte of the encrypted stream may have been
/// read from it.
struct TlsLink {
  Descriptor socket;
  TlsTerms terms;
  std::string peer_name;
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
