// SPDX-License-Identifier: Apache-2.0
/// Joining and leaving the job: the work of MPI_Init and MPI_Finalize in addition to the
/// vendor's.
#pragma once

#include <memory>
#include <string>

#include "collectives/core/select.hpp"
#include "shim/job/job.hpp"
#include "wire/base/result.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/settings/join_settings.hpp"

namespace impishim::shim {

/// The settings from the environment.
struct JobSettings {
  bool wanted = false;  ///< IMPISHIM_SERVER and IMPISHIM_CLIENT are set, or IMPISHIM_SERVER=self
  std::string server;   ///< empty: this system is the whole job, and its own server
  std::int32_t client = 0;
  wire::RelayOptions relay;
  Diagnostics diagnostics;
  wire::JoinSettings joining;  ///< hosts, addresses, ports and connections
  int answer_time = 0;         ///< IMPISHIM_ANSWER_TIME: seconds; 0: no limit
  /// IMPISHIM_GATEWAY: native ranks; empty: all ranks can reach the other systems.
  std::string gateways;
  std::string gateway_address;  ///< IMPISHIM_GATEWAY_ADDRESS; empty: all of a gateway's interfaces
  bool monitor = false;         ///< IMPISHIM_MONITOR=on
  bool split_world = false;     ///< IMPISHIM_WORLD=split
  bool poll_native = false;     ///< IMPISHIM_NATIVE_COLLECTIVES=polled
  std::string wire_format;      ///< IMPISHIM_WIRE_FORMAT: auto, native, external32, wide
  /// IMPISHIM_FOREIGN=lam: behave like LAM/MPI towards foreign implementations.
  bool as_lam = false;
  /// IMPISHIM_TEST_DELAY_MS: a delay of data from other hosts, for tests and benchmarks.
  int test_delay_ms = 0;
  /// IMPISHIM_TEST_NODE_PROCS: this number of ranks counts as a separate node, for tests.
  int test_node_procs = 0;
  wire::FabricChoice fabric;           ///< IMPISHIM_FABRIC
  collectives::Overrides collectives;  ///< IMPISHIM_COLLECTIVES

  /// Reads the environment. Error kConfiguration names the variable, its value and the allowed
  /// values.
  [[nodiscard]] static Result<JobSettings> from_environment();
};

/// Joins the job through the vendor's initialised MPI: hosts, startup, channels, engine. Collective
/// over the native world; all of its processes get the same outcome. Does not publish the job.
[[nodiscard]] Result<std::unique_ptr<Job>> join(const JobSettings& settings, int thread_level);

/// Leaves the job. Blocks until all traffic of the host is complete. Sends FINI to the other hosts
/// and, on the process that communicates with the server, to the server. The job must no longer be
/// published for new operations, and no operation may be pending.
void leave(Job& job);

}  // namespace impishim::shim
