// SPDX-License-Identifier: Apache-2.0
/// Requests of MPI_File_iread, MPI_File_iwrite and their forms, for files that another system has.
#pragma once

#include <cstdint>
#include <memory>

#include "shim/io/file_access.hpp"
#include "shim/io/shipped_file.hpp"

namespace impishim::shim {

/// Makes the user's request of a read, which its tests and waits advance.
void make_read_request(const FileAccessCall& call, std::unique_ptr<ShippedRead> read);
/// Makes the user's request of a write whose data is on its way: complete at once.
void make_written_request(const FileAccessCall& call, std::uint64_t bytes);

}  // namespace impishim::shim
