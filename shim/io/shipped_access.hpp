// SPDX-License-Identifier: Apache-2.0
/// Accesses of a process whose system does not see the file.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "shim/io/file_access.hpp"

namespace impishim::shim {

/// Carries out a call, but not one that ends a split collective operation, at a place in elementary
/// types. A blocking read by the individual file pointer moves it by what it has read.
[[nodiscard]] int access_by_shipping(const FileAccessCall& call, std::int64_t place);

/// Carries out a call that ends a split collective operation.
[[nodiscard]] int end_shipped_access(const FileAccessCall& call);

}  // namespace impishim::shim
