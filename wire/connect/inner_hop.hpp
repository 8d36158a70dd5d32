/// Links between the gateway of a host and those of its procs that stand on other nodes or in other
/// network namespaces: TCP over the system's own network. Procs of one node use LocalHop.
///
/// The procs need no other way than this one. The gateway spreads its offer by other means (the
/// vendor's MPI), and with it a secret of its own, which never crosses these connections: both ends
/// prove that they know it (link_handshake.hpp).
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
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Where a gateway can be reached by its procs, and what they prove to know.
struct GatewayOffer {
  std::vector<HostId> addresses;  ///< any of them may lead there
  std::uint16_t port = 0;
  JobSecret secret;

  [[nodiscard]] std::vector<std::byte> encode() const;
  /// kProtocol: not what encode() made.
  [[nodiscard]] static Result<GatewayOffer> decode(std::span<const std::byte> bytes);
};

/// The gateway's end.
class InnerListener {
 public:
  /// Listens at `address`, or else on every interface, and offers the addresses of all, loopback
  /// apart. kConfiguration: it is no address of this machine, or there is none to offer; the text
  /// names IMPISHIM_GATEWAY_ADDRESS.
  [[nodiscard]] static Result<InnerListener> open(const std::optional<HostId>& address);
  [[nodiscard]] const GatewayOffer& offer() const { return offer_; }
  /// The connections of the procs with these indices, in their order. Strangers are turned away and
  /// reported, bounded in number (link_acceptor.hpp), and delay none of them. Blocks at most
  /// `timeout_ms`; kTimeout names those that are missing. Closes the listening socket. `given_up`,
  /// asked now and then, tells by other means that a proc will not come, and why.
  [[nodiscard]] Result<std::vector<Descriptor>> accept(
      const std::vector<std::int32_t>& indices, int timeout_ms,
      const std::function<std::optional<Error>()>& given_up,
      const ProcessNamer& name = process_of_this_host);

 private:
  InnerListener(Descriptor socket, GatewayOffer offer)
      : socket_(std::move(socket)), offer_(std::move(offer)) {}

  Descriptor socket_;
  GatewayOffer offer_;
};

/// The end of the proc with index `my_index`: tries all addresses at once and takes the one that
/// answers as the gateway does. Blocks at most `timeout_ms`. kConnection: none did; the text tells
/// of each how it failed. kAborted: the gateway has given up, for a reason of its own or another
/// process's.
[[nodiscard]] Result<Descriptor> connect_to_gateway(const GatewayOffer& offer,
                                                    std::int32_t my_index, int timeout_ms);

/// The channels over all such connections of a process of `system`, in their order: by the provider
/// of libfabric that the system prefers, or else over the socket. Both ends do it at the same time.
/// Where nobody has named a provider, those that do not reach each other by it keep their socket.
/// Blocks at most `timeout_ms`.
[[nodiscard]] Result<std::vector<std::unique_ptr<Channel>>> make_inner_channels(
    const Client& system, std::vector<FabricLink> links, int timeout_ms);

}  // namespace impishim::wire
