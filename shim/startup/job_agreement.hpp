// SPDX-License-Identifier: Apache-2.0
/// The middle steps of joining: a host opens its port, and the systems agree on the job.
#pragma once

#include <optional>

#include "shim/startup/session.hpp"
#include "shim/startup/system_plan.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/startup/proc_info.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

/// What a process offers the other hosts.
struct HostOpening {
  wire::ProcInfo info;
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
  std::optional<JobSecret> secret;  ///< of the job, or of this system alone
  /// Only on the process that communicates with the server.
  std::optional<wire::ServerConnection> server;
};

/// Negotiates with the server. plan.speaker does so for all processes of the system. `concurrent`
/// is true if some process of the system has threads that call MPI concurrently. Collective;
/// kAborted on a process that only follows the speaker's failure.
[[nodiscard]] Result<JobAgreement> agree_on_job(const JobSettings& settings, const SystemPlan& plan,
                                                wire::ProcInfo info, bool concurrent);

}  // namespace impishim::shim
