// SPDX-License-Identifier: Apache-2.0
/// The places of the processes of a system, and the channels among those of one IMPI host.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/connect/shared_memory_links.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

/// Returns the place of each rank of `comm`. Two ranks have the same place if they share memory and
/// their network namespace, so that SharedMemoryLinks can connect them. If `node_procs` is not 0,
/// that many ranks count as a node, for tests. Collective.
[[nodiscard]] std::vector<std::int32_t> gather_places(MPI_Comm comm, int node_procs);

/// The input of link_procs().
struct ProcLinks {
  const wire::JobMap& job;
  wire::WorldRank here = 0;
  MPI_Comm host_comm = MPI_COMM_NULL;  ///< the procs of this host in their order
  std::vector<std::int32_t> places;    ///< of the host's procs
  /// On the gateway: the only address where it listens for its procs.
  std::optional<wire::HostId> gateway_address;
  wire::LocalForm form = wire::LocalForm::kRings;  ///< of channels in a place
  int timeout_ms = 0;
};

/// Returns the channels to this process's local partners (wire/topology/route.hpp): shared memory
/// in its own place, connections to the gateway otherwise. Collective over the host.
[[nodiscard]] Result<std::vector<wire::LocalChannel>> link_procs(const ProcLinks& links);

}  // namespace impishim::shim
