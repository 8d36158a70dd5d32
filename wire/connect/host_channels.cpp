// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/host_channels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/tcp_channel.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/connect/process_name.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {
namespace {

/// Links that change to libfabric together, and the positions of their channels.
struct Group {
  std::vector<FabricLink> links;
  std::vector<std::size_t> places;
};

/// Returns the name of the other host and of the process there that owns the connection. For a
/// foreign host the owner is unknown, and the name is that of the host alone.
std::string peer_name(const JobMap& job, WorldRank here, std::int32_t host) {
  const std::int32_t client = job.host(host).client;
  if (!job.client(client).impishim) return host_name(job, host);
  return fmt::format("{}, {}", host_name(job, host),
                     process_name(job, receiving_representative(job, here, host)));
}

}  // namespace

std::unique_ptr<Channel> over_socket(FabricLink link) {
  return std::make_unique<TcpChannel>(std::move(link.socket), std::move(link.peer_name));
}

Result<std::vector<HostChannel>> make_host_channels(const JobMap& job, WorldRank here,
                                                    std::vector<HostConnection> connections,
                                                    int timeout_ms) {
  const std::int32_t client = job.proc(here).client;
  std::vector<HostChannel> channels(connections.size());
  std::map<std::pair<std::string, bool>, Group>
      groups;  // key: the provider, and true if a socket may replace it
  for (std::size_t i = 0; i < connections.size(); ++i) {
    auto& [host, socket] = connections[i];
    channels[i].host = host;
    const std::int32_t other = job.host(host).client;
    const Client& first = job.client(std::min(client, other));
    const Client& second = job.client(std::max(client, other));
    FabricLink link{std::move(socket), peer_name(job, here, host)};
    const std::string provider = common_fabric(first, second);
    if (provider.empty()) {
      channels[i].channel = over_socket(std::move(link));
      continue;
    }
    Group& group = groups[{provider, first.fabric_required || second.fabric_required}];
    group.links.push_back(std::move(link));
    group.places.push_back(i);
  }
  for (auto& [key, group] : groups) {
    const auto& [provider, required] = key;
    auto made = make_fabric_channels(provider, std::move(group.links), timeout_ms,
                                     required ? SocketFallback() : SocketFallback(over_socket));
    if (!made) return made.error();
    for (std::size_t i = 0; i < made->size(); ++i)
      channels[group.places[i]].channel = std::move((*made)[i]);
  }
  return channels;
}

}  // namespace impishim::wire
