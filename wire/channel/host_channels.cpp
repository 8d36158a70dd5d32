#include "wire/channel/host_channels.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "wire/channel/dance.hpp"
#include "wire/channel/fabric.hpp"
#include "wire/channel/tcp_channel.hpp"

namespace impishim::wire {
namespace {

/// Links that go over to libfabric together, and where their channels belong.
struct Group {
  std::vector<FabricLink> links;
  std::vector<std::size_t> places;
};

}  // namespace

std::unique_ptr<Channel> over_socket(FabricLink link) {
  return std::make_unique<TcpChannel>(std::move(link.socket), std::move(link.peer_name));
}

Result<std::vector<HostChannel>> make_host_channels(const JobMap& job, std::int32_t client,
                                                    std::vector<HostConnection> connections, int timeout_ms) {
  std::vector<HostChannel> channels(connections.size());
  std::map<std::pair<std::string, bool>, Group> groups;  // by provider, and whether a socket will do instead
  for (std::size_t i = 0; i < connections.size(); ++i) {
    auto& [host, socket] = connections[i];
    channels[i].host = host;
    const std::int32_t other = job.hosts()[static_cast<std::size_t>(host)].client;
    const Client& first = job.clients()[static_cast<std::size_t>(std::min(client, other))];
    const Client& second = job.clients()[static_cast<std::size_t>(std::max(client, other))];
    FabricLink link{std::move(socket), host_name(job, host)};
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
    for (std::size_t i = 0; i < made->size(); ++i) channels[group.places[i]].channel = std::move((*made)[i]);
  }
  return channels;
}

}  // namespace impishim::wire
