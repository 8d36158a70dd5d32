// SPDX-License-Identifier: Apache-2.0
/// Links between the gateway of a host and those of its procs that run on other nodes or in other
/// network namespaces. They use TCP over the system's own network. Procs of one node use
/// SharedMemoryLinks.
///
/// The procs need no other route to the gateway. The gateway distributes its offer by other means
/// (the vendor's MPI). The offer contains a secret of this gateway that is never sent over these
/// connections. Both ends prove that they know it (link_handshake.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/channel.hpp"
#include "wire/connect/process_name.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/packet/packet.hpp"
#include "wire/tls/tls_session.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// The addresses at which procs can reach their gateway, and the secret that they must prove to
/// know.
struct GatewayOffer {
  std::vector<HostId> addresses;  ///< any of them may work
  std::uint16_t port = 0;
  JobSecret secret;

  [[nodiscard]] std::vector<std::byte> encode() const;
  /// Decodes the result of encode(). Fails with kProtocol for other bytes.
  [[nodiscard]] static Result<GatewayOffer> decode(std::span<const std::byte> bytes);
};

/// The end at the gateway.
class GatewayListener {
 public:
  /// Listens at `address` and offers it. Without `address`, listens on every interface and offers
  /// the addresses of all interfaces except loopback. Fails with kConfiguration if `address` does
  /// not belong to this machine, or if there is no address to offer; the text names
  /// IMPISHIM_GATEWAY_ADDRESS.
  [[nodiscard]] static Result<GatewayListener> open(const std::optional<HostId>& address);
  [[nodiscard]] const GatewayOffer& offer() const { return offer_; }
  /// Returns the connections of the procs with these indices, in their order. Strangers are turned
  /// away and reported, bounded in number (link_acceptor.hpp), and delay no proc. Blocks for at
  /// most `timeout_ms`; fails with kTimeout, and the text names the missing procs. Closes the
  /// listening socket. `given_up` is called regularly, and returns an error when it is known by
  /// other means that a proc will not come.
  [[nodiscard]] Result<std::vector<Descriptor>> accept(
      const std::vector<std::int32_t>& indices, int timeout_ms,
      const std::function<std::optional<Error>()>& given_up,
      const ProcessNamer& name = process_of_this_host);

 private:
  GatewayListener(Descriptor socket, GatewayOffer offer)
      : socket_(std::move(socket)), offer_(std::move(offer)) {}

  Descriptor socket_;
  GatewayOffer offer_;
};

/// Connects the proc with index `my_index` to its gateway. Tries all addresses at once and takes
/// the first one where the gateway proves itself. Blocks for at most `timeout_ms`. Fails with
/// kConnection if no address works; the text contains the reason for each. Fails with kAborted if
/// the gateway may have given up, because of an error of its own or of another process: it closed
/// the connection, or no process listens there.
[[nodiscard]] Result<Descriptor> connect_to_gateway(const GatewayOffer& offer,
                                                    std::int32_t my_index, int timeout_ms);

/// Returns the terms on which the gateway, a TLS server, and the proc with index `index` encrypt
/// their link. Fails as hmac_sha256() does.
[[nodiscard]] Result<TlsTerms> gateway_terms(TlsRole role, const JobSecret& secret,
                                             std::int32_t index);

/// Returns the channels of a process of `system` over all its links to or from the gateway, in the
/// same order. With `terms`, one for each link, they are encrypted sockets. Otherwise they use the
/// libfabric provider that the system prefers, or else the socket. Both ends must call this
/// function at the same time. If no user has named a provider, ends that cannot reach each other
/// through it keep their socket. Blocks for at most `timeout_ms`. Fails with kConfiguration if
/// links are to be encrypted and a provider is required.
[[nodiscard]] Result<std::vector<std::unique_ptr<Channel>>> make_inner_channels(
    const Client& system, std::vector<FabricLink> links, const std::vector<TlsTerms>& terms,
    int timeout_ms);

}  // namespace impishim::wire
