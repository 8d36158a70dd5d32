// SPDX-License-Identifier: Apache-2.0
/// Connections between hosts: the exchange of connect and accept that IMPI 2.3.8 calls "dance". The
/// procs of one host are connected by shared_memory_links.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/address.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/relay/relay_hello.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Takes over a connection, with the number of the remote host and that of the lane (route.hpp).
using ConnectionSink =
    std::function<Result<void>(std::int32_t host, std::int32_t lane, Descriptor socket)>;

/// Time for which a host waits for the connection of another one before it connects itself.
inline constexpr auto kReversalDelay = std::chrono::milliseconds(500);

/// Time for which a host tries both directions before it turns to the relay.
inline constexpr auto kRelayDelay = std::chrono::seconds(3);

/// The relay of the rendezvous server, for hosts that cannot connect in either direction.
struct RelayPoint {
  SocketAddress address;
  RelayToken token{};
};

struct DanceOptions {
  /// The secret that the systems of this library negotiated at startup. Without it only foreign
  /// systems can be connected.
  std::optional<JobSecret> secret;
  int timeout_ms = 0;
  int watched = -1;  ///< wakes the dance when it becomes readable, so that it calls given_up
  /// Called at least every 50 ms; an error ends the dance.
  std::function<std::optional<Error>()> given_up;
  /// Returns true if that host is to be connected with this one. Both must agree. Empty: all are.
  std::function<bool(std::int32_t host)> is_partner{};
  std::chrono::milliseconds reversal_delay = kReversalDelay;
  std::optional<RelayPoint> relay{};
  std::chrono::milliseconds relay_delay = kRelayDelay;
  /// The only host that connects; the others accept, and the relay is not used. For checks of one
  /// direction, which need is_partner. Nothing: as described below.
  std::optional<std::int32_t> connector{};
};

/// Connects from the listener's address to every host with a lower number, and accepts connections
/// from every host with a higher number, one for each lane between the two. On a further lane a
/// host calls itself lane * number of hosts + number.
///
/// Between impishim systems, and inside a system, both ends then prove that they belong to the job
/// (link_handshake.hpp), from whatever address they come. If a firewall or an address translator
/// lets only one direction through, that one is used: a host that has waited kReversalDelay for one
/// with a higher number connects to it as well, and the host with the lower number decides which
/// connection is kept. If neither direction works within kRelayDelay, hosts of different systems
/// meet at the relay, where there is one; the host with the lower number is the connector there.
/// The system's first host warns about that.
///
/// A host of a foreign system is trusted because of its number and its address, which must be the
/// advertised one (IMPI 2.3.8). The system's first host warns about that, whatever IMPISHIM_LOG is.
///
/// Each connection goes to `take` as soon as it is proven; an error of `take` ends the dance.
/// Strangers are turned away and reported, bounded in number (link_acceptor.hpp), and delay no
/// host. A lack of descriptors does not end the dance. The listener stays open.
///
/// Fails with kTimeout if hosts are missing; the text names each of them and the reason of its
/// latest failure. Fails with kConfiguration if there is no secret or no libcrypto.
[[nodiscard]] Result<void> connect_hosts(const JobMap& job, std::int32_t my_host,
                                         const HostListener& listener, const DanceOptions& options,
                                         const ConnectionSink& take);

/// Returns the host's name for messages: "host 3 (system 1, 192.0.2.7 port 4711)".
[[nodiscard]] std::string host_name(const JobMap& job, std::int32_t host);

}  // namespace impishim::wire
