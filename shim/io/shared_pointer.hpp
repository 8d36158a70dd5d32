// SPDX-License-Identifier: Apache-2.0
/// Shared file pointers of files that span systems (MPI-4.0 14.4.4).
#pragma once

#include <mpi.h>

#include <cstdint>

#include "shim/io/file.hpp"
#include "wire/file/file_status.hpp"

namespace impishim::shim {

/// Adds to the shared pointer of the present view, in elementary types. Sets `before` to its value
/// before.
[[nodiscard]] wire::FileStatus add_to_shared_pointer(File& file, std::int64_t value,
                                                     std::int64_t& before);
[[nodiscard]] wire::FileStatus set_shared_pointer(File& file, std::int64_t value);

/// Gives each process its place for a collective access by the shared pointer, in the order of
/// ranks: `count` elementary types from `place` on. All processes call it. Returns a code that has
/// been raised.
[[nodiscard]] int order_by_shared_pointer(Job& job, File& file, const char* function,
                                          std::int64_t count, std::int64_t& place);

}  // namespace impishim::shim
