// SPDX-License-Identifier: Apache-2.0
/// What a machine says of itself.
#pragma once

#include <string>
#include <vector>

#include "wire/check/report/report.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::check {

[[nodiscard]] Limits read_limits();
/// Returns the addresses of the interfaces that are up, without link-local ones.
[[nodiscard]] std::vector<Interface> read_interfaces();
/// Returns the interface that has `address`; an empty name if none has.
[[nodiscard]] Interface interface_of(const std::vector<Interface>& interfaces,
                                     const wire::HostId& address);
/// Returns the name and the release of this machine's kernel.
[[nodiscard]] std::string kernel_name();
/// Resolves a host name.
[[nodiscard]] HostName resolve(const std::string& name);

/// Returns the MPI libraries for which a libimpishim.so is beside this impirun. Each is opened in a
/// process of its own, where MPI_Get_library_version is called and MPI_Init is not.
[[nodiscard]] std::vector<MpiLibrary> find_mpi_libraries();

}  // namespace impishim::check
