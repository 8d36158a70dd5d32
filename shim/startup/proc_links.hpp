// SPDX-License-Identifier: Apache-2.0
/// Where the processes of a system stand, and the channels among those of one IMPI host.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/connect/local_hop.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

/// The place of each rank of `comm`: equal where two share memory and their network namespace, so
/// that they reach each other by what LocalHop does. `node_procs`, if not 0: so many ranks count as
/// a node, for tests. Collective.
[[nodiscard]] std::vector<std::int32_t> gather_places(MPI_Comm comm, int node_procs);

/// What link_procs() needs to know.
struct ProcLinks {
  const wire::JobMap& job;
  wire::WorldRank here = 0;
  MPI_Comm host_comm = MPI_COMM_NULL;  ///< the procs of this host, in their order
  std::vector<std::int32_t> places;    ///< of the host's procs
  std::optional<wire::HostId>
      gateway_address;  ///< on the gateway: the only one where it listens for its procs
  wire::LocalForm form = wire::LocalForm::kRings;  ///< of channels in a place
  int timeout_ms = 0;
};

/// The channels to this process's local partners (wire/topology/route.hpp): shared memory in its
/// own place, else connections to the gateway. Collective over the host.
[[nodiscard]] Result<std::vector<wire::LocalChannel>> link_procs(const ProcLinks& links);

}  // namespace impishim::shim
