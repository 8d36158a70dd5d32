// SPDX-License-Identifier: Apache-2.0
/// The last steps of joining: the processes of a host connect to each other, and the hosts of the
/// job connect.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shim/startup/session.hpp"
#include "shim/startup/system_plan.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/channel.hpp"
#include "wire/connect/handover.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/reconnect/reconnector.hpp"
#include "wire/relay/relay_hello.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

/// A process of the job whose channels are to be made.
struct JoiningProcess {
  const JobSettings& settings;
  const SystemPlan& plan;
  const wire::JobMap& map;
  wire::WorldRank here = 0;

  [[nodiscard]] std::int32_t host() const { return map.proc(here).host; }
};

/// The channels of a process to those of its host, and the way in which it gets the host's
/// connections to others.
struct LocalConnections {
  std::vector<wire::LocalChannel> channels;
  std::string token;  ///< names the socket of the host's giver
  /// Only on the process that makes its host's connections.
  std::optional<wire::HandoverGiver> giver;
};

/// Connects the processes of a host. `gateway_address` is the only address where a gateway listens
/// for its processes. Collective over the host.
[[nodiscard]] Result<LocalConnections> connect_local(
    const JoiningProcess& process, const std::optional<wire::HostId>& gateway_address);

/// What connect_hosts() uses up.
struct HostConnectors {
  std::optional<wire::HostListener> listener;  ///< only on the process that makes the connections
  const std::optional<JobSecret>& secret;
  const std::optional<wire::RelayToken>& relay;
  std::string token;
  std::optional<wire::HandoverGiver> giver;
  wire::ServerConnection* server;  ///< null on all processes but plan.speaker
};

/// The channels of a process to other hosts, and the thread that connects them again, if some of
/// them are resumable.
struct HostConnections {
  std::vector<wire::HostChannel> channels;
  std::unique_ptr<wire::Reconnector> reconnector;
};

/// Connects the hosts. One process owns the listening port and passes the connections to the
/// processes that own the channels. It keeps the port open only if connections may have to be taken
/// up again. Returns this process's channels. Collective over the system.
[[nodiscard]] Result<HostConnections> connect_hosts(const JoiningProcess& process,
                                                    HostConnectors connectors);

}  // namespace impishim::shim
