/// Channels over libfabric, for networks that its providers reach better than sockets do. How they
/// come to be: a connected socket to the peer is there already; both ends say over it how libfabric
/// reaches them, and meet there. The socket stays open as a guard: its end is the news that the
/// peer has died.
///
/// libfabric is loaded when it is first needed: its providers take a quarter of a second to look
/// around on their machine, and memory, neither of which a job without them shall pay for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire {

/// A connected stream socket (TCP or Unix) to the process that the channel shall lead to.
struct FabricLink {
  Descriptor socket;
  std::string peer_name;
};

/// What IMPISHIM_FABRIC asks for.
struct FabricChoice {
  bool automatic = true;            ///< the best of those that both ends have, or none
  std::vector<std::string> wanted;  ///< otherwise: these, the first that fits; empty: none

  /// `auto`, `none`, or libfabric's names of providers between commas. kConfiguration: anything
  /// else.
  [[nodiscard]] static Result<FabricChoice> parse(const std::string& text);
  /// The provider for the procs of one host is asked for by name.
  [[nodiscard]] bool local() const;
};

/// The provider whose peers are the processes of one machine.
inline constexpr const char* kLocalProvider = "shm";

/// The providers between hosts that are asked for and work on this machine, by their full names
/// ("tcp;ofi_rxm"), the preferred one first. kConfiguration: one that is asked for by name
/// (kLocalProvider too) is not there, and which are; or there is no libfabric. Without need, which
/// is with `automatic` and no such hardware, libfabric is not even loaded.
[[nodiscard]] Result<std::vector<std::string>> usable_providers(const FabricChoice& choice);

/// A channel over the bare socket, where the provider does not reach the peer.
using SocketFallback = std::function<std::unique_ptr<Channel>(FabricLink link)>;

/// Turns connected sockets into channels over `provider`; the peers must do the same at the same
/// time with their ends. Blocks at most `timeout_ms`. Every process that has a part in it sends
/// first and then reads, so the order of links matters to nobody. `fallback`: what becomes of a
/// link whose ends do not reach each other by this provider, both ends alike; without it that is an
/// error. Errors name the peer, the cause and the cure. All channels share one endpoint: they
/// belong under one lock. Source: fi_endpoint(3), fi_av(3), fi_cm(3) of libfabric 1.17.
[[nodiscard]] Result<std::vector<std::unique_ptr<Channel>>> make_fabric_channels(
    const std::string& provider, std::vector<FabricLink> links, int timeout_ms,
    const SocketFallback& fallback = {});

}  // namespace impishim::wire
