/// The channels of a process to other hosts, over the connections of the dance.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// The channel that the socket itself makes: IMPI's form.
[[nodiscard]] std::unique_ptr<Channel> over_socket(FabricLink link);

/// Remote host, and the socket connected to it.
using HostConnection = std::pair<std::int32_t, Descriptor>;

/// Channels of `my_host` over `connections`, in their order: by the provider of libfabric that both
/// clients have (common_fabric), or else over the socket, which is IMPI's form. The owners at the
/// other ends do the same at the same time. Where nobody has named a provider, hosts that do not
/// reach each other by it keep their socket.
[[nodiscard]] Result<std::vector<HostChannel>> make_host_channels(
    const JobMap& job, std::int32_t my_host, std::vector<HostConnection> connections,
    int timeout_ms);

}  // namespace impishim::wire
