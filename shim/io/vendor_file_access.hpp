// SPDX-License-Identifier: Apache-2.0
/// Accesses by the vendor where its own functions for shared file pointers cannot be used: they
/// know the processes of one system only.
#pragma once

#include <mpi.h>

#include "shim/io/file_access.hpp"

namespace impishim::shim {

/// Carries out a call by the vendor's function with an explicit offset, in elementary types.
[[nodiscard]] int access_in_vendor(const FileAccessCall& call, MPI_Offset offset);

}  // namespace impishim::shim
