// SPDX-License-Identifier: Apache-2.0
/// Joining and leaving the job: what MPI_Init and MPI_Finalize do beyond the vendor's.
#pragma once

#include <memory>
#include <string>

#include "collectives/core/select.hpp"
#include "shim/job/job.hpp"
#include "wire/base/result.hpp"
#include "wire/fabric/fabric.hpp"

namespace impishim::shim {

/// What the environment asks for.
struct JoinRequest {
  bool wanted = false;  ///< IMPISHIM_SERVER and IMPISHIM_CLIENT are set
  std::string server;
  std::int32_t client = 0;
  wire::RelayOptions relay;
  Diagnostics diagnostics;
  int host_procs = 0;  ///< IMPISHIM_HOST_PROCS; 0: one host per node
  std::string
      gateways;  ///< IMPISHIM_GATEWAY: native ranks; empty: all have a way to the other systems
  std::string gateway_address;  ///< IMPISHIM_GATEWAY_ADDRESS; empty: all of a gateway's interfaces
  std::string address;          ///< IMPISHIM_HOST_ADDRESS; empty: found out
  bool split_world = false;     ///< IMPISHIM_WORLD=split
  bool poll_native = false;     ///< IMPISHIM_NATIVE_COLLECTIVES=polled
  std::string wire_format;      ///< IMPISHIM_WIRE_FORMAT: auto, native, external32, wide
  bool as_lam =
      false;  ///< IMPISHIM_FOREIGN=lam: towards foreign implementations, what LAM/MPI does
  int test_delay_ms = 0;  ///< IMPISHIM_TEST_DELAY_MS: added to what comes from other hosts, for
                          ///< tests and benchmarks
  int test_node_procs =
      0;  ///< IMPISHIM_TEST_NODE_PROCS: so many ranks count as a node of their own, for tests
  wire::FabricChoice fabric;           ///< IMPISHIM_FABRIC
  collectives::Overrides collectives;  ///< IMPISHIM_COLLECTIVES

  /// kConfiguration names the variable, its value and what is allowed.
  [[nodiscard]] static Result<JoinRequest> from_environment();
};

/// Joins the job over the vendor's initialised MPI: hosts, startup, channels, engine. Collective
/// over the native world; all of its processes get the same outcome. Does not publish the job.
[[nodiscard]] Result<std::unique_ptr<Job>> join(const JoinRequest& request, int thread_level);

/// Leaves: waits until all traffic of the host is over, says FINI to the other hosts and, on the
/// process that spoke with it, to the server. The job must not be published any more for new
/// operations, and no operation may be pending.
void leave(Job& job);

}  // namespace impishim::shim
