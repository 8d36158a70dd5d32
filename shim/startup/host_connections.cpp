// SPDX-License-Identifier: Apache-2.0
#include "shim/startup/host_connections.hpp"

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
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
#include "wire/connect/handover.hpp"
#include "wire/connect/host_channels.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/connect/shared_memory_links.hpp"
#include "wire/connect/unix_socket.hpp"
#include "wire/packet/packet.hpp"
#include "wire/relay/relay_hello.hpp"
#include "wire/topology/job_map.hpp"
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

/// Connects this host to the others, and gives each connection to the process that owns it. Returns
/// those of this process.
Result<std::vector<wire::HostConnection>> give_connections(const JoiningProcess& process,
                                                           HostConnectors& connectors,
                                                           StartupWatch& watch) {
  std::vector<wire::HostConnection> own;
  const std::int32_t my_host = process.host();
  const wire::WorldRank first = process.here - process.plan.host_rank;
  const auto give = [&](std::int32_t host, std::int32_t lane, Descriptor socket) -> Result<void> {
    const wire::WorldRank owner = wire::representative(process.map, my_host, host, lane);
    if (owner != process.here)
      return connectors.giver->give(owner - first, host, socket, kConnectTimeoutMs);
    own.emplace_back(host, std::move(socket));
    return {};
  };
  wire::DanceOptions options{connectors.secret, kConnectTimeoutMs, watch.descriptor(),
                             [&] { return watch.given_up(); }};
  if (connectors.relay) {
    auto point = relay_point(process.settings.server, *connectors.relay);
    if (!point) return point.error();
    options.relay = *point;
  }
  auto connected =
      wire::connect_hosts(process.map, my_host, std::move(*connectors.listener), options, give);
  connectors.giver.reset();  // processes that still wait are notified that no connection will come
  if (!connected) return connected.error();
  return own;
}

/// Takes the connections that this process owns from the one that makes them.
Result<std::vector<wire::HostConnection>> take_connections(const JoiningProcess& process,
                                                           const std::string& token) {
  std::vector<wire::HostConnection> own;
  const std::size_t mine = wire::hosts_represented_by(process.map, process.here).size();
  if (mine == 0) return own;
  auto taker = wire::HandoverTaker::connect(token, process.plan.host_rank, kConnectTimeoutMs);
  if (!taker) return taker.error();
  while (own.size() < mine) {
    // The giver's own timeout expires first, since its error is more precise.
    auto taken = taker->take(2 * kConnectTimeoutMs);
    if (!taken) return taken.error();
    own.push_back(std::move(*taken));
  }
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

Result<std::vector<wire::HostChannel>> make_channels(const JoiningProcess& process,
                                                     HostConnectors& connectors,
                                                     StartupWatch& watch) {
  auto own = process.plan.connects() ? give_connections(process, connectors, watch)
                                     : take_connections(process, connectors.token);
  if (!own) return own.error();
  // The other hosts may still be connecting, within the same timeout.
  auto channels = wire::make_host_channels(process.map, process.here, std::move(*own),
                                           connectors.secret, 2 * kConnectTimeoutMs);
  if (!channels || process.settings.test_delay_ms == 0) return channels;
  auto delayed = delay_channels(*channels, process.settings.test_delay_ms);
  if (!delayed) return delayed.error();
  return channels;
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

Result<std::vector<wire::HostChannel>> connect_hosts(const JoiningProcess& process,
                                                     HostConnectors connectors) {
  StartupWatch watch(process.plan.all, process.plan.speaker, connectors.server);
  auto channels = make_channels(process, connectors, watch);
  auto concluded = watch.conclude();
  if (channels && !concluded) return concluded.error();
  return channels;
}

}  // namespace impishim::shim
