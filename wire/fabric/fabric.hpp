// SPDX-License-Identifier: Apache-2.0
/// Channels over libfabric, for networks that its providers reach better than sockets do.
///
/// A channel starts from a socket that is already connected to the peer. Both ends use the socket
/// to exchange the addresses at which libfabric reaches them, and then connect through libfabric.
/// The socket stays open as a guard: its end shows that the peer has died.
///
/// libfabric is loaded when it is first needed. Its providers take a quarter of a second to examine
/// the machine, and they use memory. A job that does not use them must not pay for either.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire {

/// A connected stream socket (TCP or Unix) to the process that the channel will lead to.
struct FabricLink {
  Descriptor socket;
  std::string peer_name;
};

/// The choice of providers that IMPISHIM_FABRIC makes.
struct FabricChoice {
  bool automatic = true;            ///< use the best provider that both ends have, or none
  std::vector<std::string> wanted;  ///< if not automatic: the first of these that fits; empty: none

  /// Parses `auto`, `none`, or libfabric provider names separated by commas. Fails with
  /// kConfiguration for anything else.
  [[nodiscard]] static Result<FabricChoice> parse(const std::string& text);
  /// Returns true if the provider for the procs of one host is requested by name.
  [[nodiscard]] bool local() const;
};

/// The provider whose peers are the processes of one machine.
inline constexpr const char* kLocalProvider = "shm";

/// Returns the providers between hosts that are requested and work on this machine, by their full
/// names ("tcp;ofi_rxm") and in order of preference. Fails with kConfiguration if a provider that
/// is requested by name (also kLocalProvider) is missing, and then lists the available ones; also
/// fails if there is no libfabric. With `automatic` and no such hardware, libfabric is not even
/// loaded.
[[nodiscard]] Result<std::vector<std::string>> usable_providers(const FabricChoice& choice);

/// Makes a channel over the bare socket, for a peer that the provider does not reach.
using SocketFallback = std::function<std::unique_ptr<Channel>(FabricLink link)>;

/// Turns connected sockets into channels over `provider`. The peers must do the same with their
/// ends at the same time. Blocks at most `timeout_ms`. Every process that takes part sends first
/// and then reads, so the order of the links does not matter. `fallback` makes the channel of a
/// link whose ends do not reach each other through this provider; both ends then do the same.
/// Without `fallback` such a link is an error. Errors name the peer, the cause and the cure. All
/// channels share one endpoint, so they must be used under one lock. Source: fi_endpoint(3),
/// fi_av(3), fi_cm(3) of libfabric 1.17.
[[nodiscard]] Result<std::vector<std::unique_ptr<Channel>>> make_fabric_channels(
    const std::string& provider, std::vector<FabricLink> links, int timeout_ms,
    const SocketFallback& fallback = {});

}  // namespace impishim::wire
