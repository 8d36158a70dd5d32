// SPDX-License-Identifier: Apache-2.0
/// The name server of MPI_Publish_name and MPI_Lookup_name (wire/port/name_service.hpp).
#pragma once

#include <cstdint>
#include <memory>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/port/open_port.hpp"

namespace impishim::launch {

/// Opens a name server for jobs of this machine and others: at IMPISHIM_HOST_ADDRESS, or else the
/// address that others reach, and at `port` (0: the kernel chooses). Fails with kConfiguration.
[[nodiscard]] Result<std::unique_ptr<wire::OpenPort>> open_name_server(std::uint16_t port);

/// Opens a name server for the systems that this program starts on this machine, and puts its name
/// into the environment. Returns null if the environment names one already.
[[nodiscard]] Result<std::unique_ptr<wire::OpenPort>> open_own_name_server();

/// Blocks SIGINT and SIGTERM, and returns a descriptor that becomes readable when one arrives.
/// Fails with kSystem.
[[nodiscard]] Result<Descriptor> watch_end_signals();

/// Serves in a thread of its own as long as this process lives.
void serve_in_background(std::shared_ptr<wire::OpenPort> server);

}  // namespace impishim::launch
