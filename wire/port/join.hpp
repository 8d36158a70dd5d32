// SPDX-License-Identifier: Apache-2.0
/// MPI_Comm_join: two processes that share a socket open a port between them.
#pragma once

#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"
#include "wire/port/open_port.hpp"

namespace impishim::wire {

/// Exchanges what both ends need over `socket`, a connected stream socket that neither uses
/// meanwhile, and connects them over a port at `address` of one of them. The socket keeps its
/// options, and all bytes of the exchange are read. Fails with kConfiguration if the process at the
/// other end does not run this library, and with kConnection if it is gone.
[[nodiscard]] Result<PortConnection> join_over(int socket, const HostId& address);

}  // namespace impishim::wire
