// SPDX-License-Identifier: Apache-2.0
/// Which MPI a library belongs to, by its name.
#pragma once

#include <string_view>

namespace impishim::shim {

/// Returns the MPI that a library with this file name belongs to: "mpich", "openmpi", or "abi" for
/// the standard ABI (MPI 5.0, chapter 20). Libraries that share MPICH's binary interface count as
/// MPICH. Returns an empty string for another name.
[[nodiscard]] std::string_view mpi_of_library(std::string_view file);

}  // namespace impishim::shim
