// SPDX-License-Identifier: Apache-2.0
#include "shim/startup/host_connections.hpp"

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shim/startup/native_exchange.hpp"
#include "shim/startup/proc_links.hpp"
#include "shim/startup/startup_limits.hpp"
#include "shim/startup/startup_watch.hpp"
#include "shim/vendor.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/delayed_channel.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/compress/compressed_channel.hpp"
#include "wire/connect/handover.hpp"
#include "wire/connect/host_channels.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/connect/shared_memory_links.hpp"
#include "wire/connect/unix_socket.hpp"
#include "wire/packet/packet.hpp"
#include "wire/reconnect/link_repair.hpp"
#include "wire/reconnect/reconnector.hpp"
#include "wire/relay/relay_hello.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/reconnect_time.hpp"
#include "wire/topology/route.hpp"

namespace impishim::shim {
namespace {

/// Opens the socket for handing over connections. Its name is published only when it is in use, so
/// no other user can take it first.
Result<void> open_giver(LocalConnections& connections) {
  auto token = wire::random_token();
  if (!token) return token.error();
  auto giver = wire::HandoverGiver::open(*token);
  if (!giver) return giver.error();
  connections.giver = std::move(*giver);
  connections.token = std::move(*token);
  return {};
}

/// Returns where the relay of the rendezvous server is.
Result<wire::RelayPoint> relay_point(const std::string& server, const wire::RelayToken& token) {
  auto parts = wire::split_address_and_port(server);
  if (!parts) return parts.error();
  auto host = wire::parse_address(parts->first);
  if (!host) return host.error();
  return wire::RelayPoint{wire::SocketAddress::of(*host, parts->second), token};
}

/// Returns true if a connection of this process's host would be taken up again.
bool host_resumes(const JoiningProcess& process) {
  const std::int32_t mine = process.host();
  for (std::int32_t host = 0; host < static_cast<std::int32_t>(process.map.hosts().size()); ++host)
    if (host != mine && wire::reconnect_time(process.map, mine, host).count() > 0) return true;
  return false;
}

/// The connections that this process owns, and how later ones reach it.
struct OwnConnections {
  std::vector<wire::HostConnection> connections;
  wire::ReconnectorDoors doors;
};

/// Connects this host to the others, and gives each connection to the process that owns it. Returns
/// those of this process.
Result<OwnConnections> give_connections(const JoiningProcess& process, HostConnectors& connectors,
                                        const std::optional<wire::RelayPoint>& relay,
                                        StartupWatch& watch) {
  OwnConnections own;
  const std::int32_t my_host = process.host();
  const wire::WorldRank first = process.here - process.plan.host_rank;
  const auto give = [&](std::int32_t host, std::int32_t lane, Descriptor socket) -> Result<void> {
    const wire::WorldRank owner = wire::representative(process.map, my_host, host, lane);
    if (owner != process.here)
      return connectors.giver->give(owner - first, host, socket, kConnectTimeoutMs);
    own.connections.emplace_back(host, std::move(socket));
    return {};
  };
  wire::DanceOptions options{connectors.secret, kConnectTimeoutMs, watch.descriptor(),
                             [&] { return watch.given_up(); }};
  options.relay = relay;
  auto connected = wire::connect_hosts(process.map, my_host, *connectors.listener, options, give);
  if (connected && host_resumes(process)) {
    own.doors.listener = std::move(connectors.listener);
    own.doors.giver = std::move(connectors.giver);
  }
  connectors.listener.reset();
  connectors.giver.reset();  // processes that still wait are notified that no connection will come
  if (!connected) return connected.error();
  return own;
}

/// Takes the connections that this process owns from the one that makes them.
Result<OwnConnections> take_connections(const JoiningProcess& process, const std::string& token) {
  OwnConnections own;
  const std::size_t mine = wire::hosts_represented_by(process.map, process.here).size();
  if (mine == 0) return own;
  auto taker = wire::HandoverTaker::connect(token, process.plan.host_rank, kConnectTimeoutMs);
  if (!taker) return taker.error();
  while (own.connections.size() < mine) {
    // The giver's own timeout expires first, since its error is more precise.
    auto taken = taker->take(2 * kConnectTimeoutMs);
    if (!taken) return taken.error();
    own.connections.push_back(std::move(*taken));
  }
  if (host_resumes(process)) own.doors.taker = std::move(*taker);
  return own;
}

Result<void> delay_channels(std::vector<wire::HostChannel>& channels, int delay_ms) {
  for (wire::HostChannel& each : channels) {
    auto delayed =
        wire::DelayedChannel::make(std::move(each.channel), std::chrono::milliseconds(delay_ms));
    if (!delayed) return delayed.error();
    each.channel = std::move(*delayed);
  }
  return {};
}

/// Makes the channels that outlive their connections, and starts the thread that connects them
/// again.
Result<std::unique_ptr<wire::Reconnector>> make_resumable(
    const wire::RepairTerms& terms, wire::ReconnectorDoors doors,
    std::vector<wire::RepairedLink> links, std::vector<wire::HostChannel>& channels) {
  const std::int32_t my_host = terms.job.proc(terms.here).host;
  auto reconnector = wire::Reconnector::make(terms, std::move(doors));
  if (!reconnector) return reconnector;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (wire::reconnect_time(terms.job, my_host, links[i].host).count() == 0) continue;
    auto made = (*reconnector)->make_resumable(std::move(channels[i].channel), std::move(links[i]));
    if (!made) return made.error();
    channels[i].channel = std::move(*made);
  }
  (*reconnector)->start();
  return reconnector;
}

/// Wraps the channels whose bytes are compressed. Outermost: bytes are compressed before they are
/// encrypted, and once, whatever connection carries them.
Result<void> compress_channels(const JoiningProcess& process,
                               std::vector<wire::HostChannel>& channels) {
  for (wire::HostChannel& each : channels) {
    if (!wire::compresses_between(process.map, process.host(), each.host)) continue;
    auto compressed = wire::CompressedChannel::make(std::move(each.channel));
    if (!compressed) return compressed.error();
    each.channel = std::move(*compressed);
  }
  return {};
}

/// Returns the options of connections. A channel of several ones gives each only what it can carry,
/// and one that compresses has to notice that its connection is full. The kernel encrypts only what
/// can be taken up again.
wire::TcpOptions tcp_options(const JoiningProcess& process) {
  constexpr int kMostUnsent = 1 << 17;
  wire::TcpOptions options = process.settings.joining.tcp;
  const wire::NegotiatedValues& values = process.map.values();
  if (values.streams != 1 || values.compressed) options.most_unsent = kMostUnsent;
  if (!host_resumes(process)) options.kernel_tls = false;
  return options;
}

/// Makes the channels over this process's connections.
Result<HostConnections> make_channels(const JoiningProcess& process, HostConnectors& connectors,
                                      StartupWatch& watch) {
  std::optional<wire::RelayPoint> relay;
  if (connectors.relay) {
    auto point = relay_point(process.settings.server, *connectors.relay);
    if (!point) return point.error();
    relay = *point;
  }
  auto own = process.plan.connects() ? give_connections(process, connectors, relay, watch)
                                     : take_connections(process, connectors.token);
  if (!own) return own.error();
  const bool resumes = host_resumes(process) && connectors.secret.has_value();
  std::vector<wire::RepairedLink> links;
  std::optional<wire::RepairTerms> terms;
  if (resumes) {
    terms.emplace(wire::RepairTerms{process.map, process.here, *connectors.secret, relay,
                                    tcp_options(process),
                                    std::chrono::seconds(process.settings.answer_time)});
    for (const auto& [host, socket] : own->connections)
      links.push_back(wire::describe_link(*terms, host, socket));
  }
  HostConnections made;
  // The other hosts may still be connecting, within the same timeout.
  auto channels =
      wire::make_host_channels(process.map, process.here, std::move(own->connections),
                               {connectors.secret, 2 * kConnectTimeoutMs, tcp_options(process)});
  if (!channels) return channels.error();
  made.channels = std::move(*channels);
  if (resumes && (!made.channels.empty() || own->doors.listener)) {
    auto reconnector =
        make_resumable(*terms, std::move(own->doors), std::move(links), made.channels);
    if (!reconnector) return reconnector.error();
    made.reconnector = std::move(*reconnector);
  }
  auto compressed = compress_channels(process, made.channels);
  if (!compressed) return compressed.error();
  if (process.settings.test_delay_ms == 0) return made;
  auto delayed = delay_channels(made.channels, process.settings.test_delay_ms);
  if (!delayed) return delayed.error();
  return made;
}

}  // namespace

Result<LocalConnections> connect_local(const JoiningProcess& process,
                                       const std::optional<wire::HostId>& gateway_address) {
  const SystemPlan& plan = process.plan;
  LocalConnections connections;
  connections.token.resize(wire::kTokenSize);
  // A gateway keeps all connections.
  const bool gives = plan.connects() && plan.host.gateway < 0;
  auto opened = gives ? open_giver(connections) : Result<void>();
  MPI_Request request = MPI_REQUEST_NULL;
  vendor::Ibcast(connections.token.data(), static_cast<int>(connections.token.size()), MPI_CHAR,
                 plan.connector(), plan.host_comm, &request);
  wait_politely(request);
  const auto first_place = plan.places.begin() + plan.host.first;
  const bool by_fabric = process.settings.fabric.local();
  auto channels = link_procs({process.map,
                              process.here,
                              plan.host_comm,
                              {first_place, first_place + plan.host.count},
                              gateway_address,
                              by_fabric ? wire::LocalForm::kFabric : wire::LocalForm::kRings,
                              kConnectTimeoutMs});
  if (!channels) return channels.error();
  if (!opened) return opened.error();
  connections.channels = std::move(*channels);
  return connections;
}

Result<HostConnections> connect_hosts(const JoiningProcess& process, HostConnectors connectors) {
  StartupWatch watch(process.plan.all, process.plan.speaker, connectors.server);
  auto made = make_channels(process, connectors, watch);
  auto concluded = watch.conclude();
  if (made && !concluded) return concluded.error();
  return made;
}

}  // namespace impishim::shim
