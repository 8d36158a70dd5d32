// SPDX-License-Identifier: Apache-2.0
/// The first steps of joining: the processes of a system agree on its settings and form its IMPI
/// hosts.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "shim/startup/native_exchange.hpp"
#include "shim/startup/session.hpp"
#include "wire/base/result.hpp"
#include "wire/topology/host_plan.hpp"

namespace impishim::shim {

/// The processes of a system, and this one among them.
struct SystemPlan {
  MPI_Comm all = MPI_COMM_NULL;        ///< all processes of the system
  MPI_Comm host_comm = MPI_COMM_NULL;  ///< the processes of this IMPI host
  int rank = 0;                        ///< in `all`
  int host_rank = 0;                   ///< in `host_comm`
  int speaker = 0;                     ///< rank that communicates with the server
  std::vector<std::int32_t> places;    ///< of the ranks of `all`: gather_places()
  std::vector<wire::PlannedHost> hosts;
  wire::PlannedHost host;  ///< the host of this process

  /// Returns the rank, in its host, of the process that makes the host's connections: the gateway
  /// if there is one, or else the lowest process.
  [[nodiscard]] int connector() const { return std::max(host.gateway, 0); }
  [[nodiscard]] bool connects() const { return host_rank == connector(); }
};

/// Checks that all processes of `all` have the same settings where they must. If they planned the
/// hosts differently, they would wait for each other in different groups. If they treated foreign
/// implementations differently, they would use different algorithms of a collective. Returns the
/// native ranks of the gateways, or kConfiguration on a process that differs. Collective.
[[nodiscard]] Result<std::vector<std::int32_t>> agree_on_gateways(const JobSettings& settings,
                                                                  MPI_Comm all);

/// Returns the processes of the system, without hosts. Collective.
[[nodiscard]] SystemPlan describe_system(const JobSettings& settings, MPI_Comm all,
                                         const std::vector<std::int32_t>& gateways);

/// Forms the hosts of the system, of at most `host_procs` processes (wire/topology/host_size.hpp).
/// Makes a communicator of each. Collective.
void plan_hosts(SystemPlan& plan, std::int32_t host_procs,
                const std::vector<std::int32_t>& gateways);

/// Blocks until all processes of `all` have an outcome. Returns the value, or on every process the
/// same error if one has failed.
template <class T>
[[nodiscard]] Result<T> common_outcome(MPI_Comm all, Result<T> mine) {
  sleeping_barrier(all);
  auto error = first_error(all, mine ? std::nullopt : std::optional(mine.error()));
  if (error) return *error;
  return mine;
}

}  // namespace impishim::shim
