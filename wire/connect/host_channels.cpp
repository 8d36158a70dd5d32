// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/host_channels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/tcp_channel.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/connect/channel_terms.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/tls/tls_handshake.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

/// Links that change to libfabric together, and the positions of their channels.
struct Group {
  std::vector<FabricLink> links;
  std::vector<std::size_t> places;
};

}  // namespace

std::unique_ptr<Channel> over_socket(FabricLink link) {
  return std::make_unique<TcpChannel>(std::move(link.socket), std::move(link.peer_name));
}

namespace {

/// The process's links, sorted by what their channels run over.
class Links {
 public:
  Links(const JobMap& job, WorldRank here, const HostChannelOptions& options)
      : job_(job), here_(here), secret_(options.secret), tcp_(options.tcp) {}

  /// Takes the connection for channel `place`.
  Result<void> add(std::size_t place, HostConnection connection) {
    auto& [host, socket] = connection;
    const std::int32_t client = job_.proc(here_).client;
    const std::int32_t other = job_.host(host).client;
    const Client& first = job_.client(std::min(client, other));
    const Client& second = job_.client(std::max(client, other));
    const bool required = first.fabric_required || second.fabric_required;
    const std::string provider = common_fabric(first, second);
    FabricLink link{std::move(socket), channel_peer_name(job_, here_, host)};
    if (job_.values().encrypted) {
      if (required && !provider.empty()) {
        return Error{ErrorKind::kConfiguration,
                     fmt::format("IMPISHIM_FABRIC names {}, whose channels cannot be encrypted: "
                                 "unset it, or set IMPISHIM_TLS=off",
                                 provider)};
      }
      return add_encrypted(place, host, std::move(link));
    }
    Group& group =
        provider.empty() ? plain_ : groups_[std::pair<std::string, bool>(provider, required)];
    group.links.push_back(std::move(link));
    group.places.push_back(place);
    return {};
  }

  /// Makes the channels.
  Result<void> connect(std::vector<HostChannel>& channels, int timeout_ms) {
    for (std::size_t i = 0; i < plain_.links.size(); ++i)
      channels[plain_.places[i]].channel = std::make_unique<TcpChannel>(
          std::move(plain_.links[i].socket), std::move(plain_.links[i].peer_name), tcp_);
    if (!encrypted_.empty()) {
      auto made = make_tls_channels(std::move(encrypted_), timeout_ms);
      if (!made) return made.error();
      for (std::size_t i = 0; i < made->size(); ++i)
        channels[encrypted_places_[i]].channel = std::move((*made)[i]);
    }
    for (auto& [key, group] : groups_) {
      const auto& [provider, required] = key;
      auto made = make_fabric_channels(provider, std::move(group.links), timeout_ms,
                                       required ? SocketFallback() : SocketFallback(over_socket));
      if (!made) return made.error();
      for (std::size_t i = 0; i < made->size(); ++i)
        channels[group.places[i]].channel = std::move((*made)[i]);
    }
    return {};
  }

 private:
  Result<void> add_encrypted(std::size_t place, std::int32_t host, FabricLink link) {
    if (!secret_)
      return Error{ErrorKind::kConfiguration, "the systems have not agreed on a secret of the job"};
    auto terms = channel_tls_terms(job_, here_, host, *secret_);
    if (!terms) return terms.error();
    encrypted_.push_back({std::move(link.socket), *terms, std::move(link.peer_name), tcp_});
    encrypted_places_.push_back(place);
    return {};
  }

  const JobMap& job_;
  WorldRank here_;
  const std::optional<JobSecret>& secret_;
  TcpOptions tcp_;
  Group plain_;
  std::vector<TlsLink> encrypted_;
  std::vector<std::size_t> encrypted_places_;
  /// By the provider, and true if no socket may replace it.
  std::map<std::pair<std::string, bool>, Group> groups_;
};

}  // namespace

Result<std::vector<HostChannel>> make_host_channels(const JobMap& job, WorldRank here,
                                                    std::vector<HostConnection> connections,
                                                    const HostChannelOptions& options) {
  std::vector<HostChannel> channels(connections.size());
  Links links(job, here, options);
  for (std::size_t i = 0; i < connections.size(); ++i) {
    channels[i].host = connections[i].first;
    auto added = links.add(i, std::move(connections[i]));
    if (!added) return added.error();
  }
  auto connected = links.connect(channels, options.timeout_ms);
  if (!connected) return connected.error();
  return channels;
}

}  // namespace impishim::wire
