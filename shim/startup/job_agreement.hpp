// SPDX-License-Identifier: Apache-2.0
/// The middle steps of joining: the system enters the job, its hosts open their ports, and the
/// systems agree.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shim/startup/session.hpp"
#include "shim/startup/system_plan.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/server/own_server.hpp"
#include "wire/startup/proc_info.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/topology/host_size.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

/// What joining has brought before the hosts of this system are planned.
struct JobEntry {
  /// Both only on the process that communicates with the server; the first only if settings.server
  /// is empty.
  std::unique_ptr<wire::OwnServer> own_server;
  std::optional<wire::ServerConnection> server;
  std::int32_t host_procs = wire::kHostProcsNode;  ///< see choose_host_procs()
};

/// Checks the settings that open_host() needs, on the processes that may open a host: it is too
/// late for the user when the other systems have joined.
[[nodiscard]] Result<void> check_host_settings(const JobSettings& settings, const SystemPlan& plan,
                                               const std::vector<std::int32_t>& gateways);

/// Joins the job at the server: plan.speaker does so for all processes of the system. All systems
/// agree on the size of their hosts. Collective; kAborted on a process that only follows the
/// speaker's failure.
[[nodiscard]] Result<JobEntry> enter_job(const JobSettings& settings, const SystemPlan& plan,
                                         bool has_gateways);

/// What a process offers the other hosts.
struct HostOpening {
  wire::ProcInfo info;
  std::vector<wire::HostId> listening;  ///< where the host listens
  /// Only on the process that makes its host's connections.
  std::optional<wire::HostListener> listener;
  std::optional<wire::HostId> gateway_address;  ///< IMPISHIM_GATEWAY_ADDRESS
};

/// Finds the address of the host and starts to listen, on the process that makes the host's
/// connections. Does nothing on the others.
[[nodiscard]] Result<HostOpening> open_host(const JobSettings& settings, const SystemPlan& plan);

/// What the systems have agreed on.
struct JobAgreement {
  wire::JobMap map;
  std::optional<JobSecret> secret;        ///< of the job, or of this system alone
  std::optional<wire::RelayToken> relay;  ///< of the server's relay, if it has one
  /// As in JobEntry.
  std::unique_ptr<wire::OwnServer> own_server;
  std::optional<wire::ServerConnection> server;
};

/// Negotiates with the other systems. plan.speaker does so for all processes of the system.
/// `traits` are those of the system.
/// Collective; kAborted on a process that only follows the speaker's failure.
[[nodiscard]] Result<JobAgreement> agree_on_job(const JobSettings& settings, const SystemPlan& plan,
                                                JobEntry entry, wire::ProcInfo info,
                                                wire::ClientTraits traits);

}  // namespace impishim::shim
