// SPDX-License-Identifier: Apache-2.0
/// The variables that decide how a system takes part in a job. MPI_Init and `impirun -check` read
/// them here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::wire {

struct JoinSettings {
  std::string address;         ///< IMPISHIM_HOST_ADDRESS; empty: automatic
  std::string listen_address;  ///< IMPISHIM_LISTEN_ADDRESS; empty: `address`
  std::string ports_text;      ///< IMPISHIM_PORT
  PortRange ports{};
  SystemSize size{};  ///< all but the system's number, processes and gateways
  TcpOptions tcp{};   ///< IMPISHIM_HEARTBEAT, IMPISHIM_CONGESTION, IMPISHIM_KERNEL_TLS

  /// Fails with kConfiguration; the text names the variable, its value and what is allowed.
  [[nodiscard]] static Result<JoinSettings> from_environment();
};

/// Where a host announces that it is, and where it listens.
struct HostPlace {
  std::vector<HostId> announced;  ///< at least one
  std::vector<HostId> listening;
};

/// Finds the addresses of this host. `server` is "address:port", or empty if this system is the
/// whole job. Fails with kConfiguration.
[[nodiscard]] Result<HostPlace> find_place(const JoinSettings& settings, const std::string& server);

/// Returns how many of the ports are free at these addresses, of the first 64 at most.
[[nodiscard]] std::int64_t count_free_ports(const JoinSettings& settings, const HostPlace& place);

}  // namespace impishim::wire
