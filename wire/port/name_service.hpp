// SPDX-License-Identifier: Apache-2.0
/// Names of services (MPI_Publish_name, MPI_Lookup_name, MPI_Unpublish_name), kept by a server that
/// several jobs may share. The server is a port: a process that does not know the secret of
/// its name learns nothing.
#pragma once

#include "wire/base/result.hpp"
#include "wire/port/name_table.hpp"
#include "wire/port/open_port.hpp"
#include "wire/port/port_name.hpp"

namespace impishim::wire {

/// Name of the variable that tells processes the server: the text of its port's name.
inline constexpr const char* kNameServerVariable = "IMPISHIM_NAME_SERVER";

/// Serves requests until `watched`, a descriptor, becomes readable. A client that sends nothing
/// delays others for at most ten seconds. Fails as OpenPort::accept() does.
[[nodiscard]] Result<void> serve_names(OpenPort& port, int watched);

/// Asks the server. Fails as connect_to_port() and Conversation do.
[[nodiscard]] Result<NameAnswer> ask_name_server(const PortName& server,
                                                 const NameRequest& request);

}  // namespace impishim::wire
