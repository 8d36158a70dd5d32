// SPDX-License-Identifier: Apache-2.0
/// The channels of a process to other hosts, over the connections that connect_hosts() made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Returns a channel over the socket itself, which is the form that IMPI defines.
[[nodiscard]] std::unique_ptr<Channel> over_socket(FabricLink link);

struct HostChannelOptions {
  const std::optional<JobSecret>& secret;  ///< the job's
  int timeout_ms = 0;
  TcpOptions tcp{};
};

/// A remote host, and the socket that is connected to it.
using HostConnection = std::pair<std::int32_t, Descriptor>;

/// Returns the channels of the process `here` over `connections`, in the same order. A channel uses
/// the libfabric provider that both clients have (common_fabric), or else the socket, which is the
/// form that IMPI defines. In an encrypted job it uses TLS 1.3 over the socket, with a key made
/// from the job's secret for these two processes. The owners of the other ends must call this
/// function at the same time. If no user has named a provider, hosts that cannot reach each other
/// through it keep their socket.
[[nodiscard]] Result<std::vector<HostChannel>> make_host_channels(
    const JobMap& job, WorldRank here, std::vector<HostConnection> connections,
    const HostChannelOptions& options);

}  // namespace impishim::wire
