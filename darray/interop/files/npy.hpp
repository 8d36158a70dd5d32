// SPDX-License-Identifier: Apache-2.0
/// Headers of NumPy's .npy files, versions 1 to 3 (NumPy Enhancement Proposal 1).
#pragma once

#include <string>

#include "darray/interop/files/array_file.hpp"

namespace impishim::darray::file::npy {

/// @throws Error kArgument for a file that cannot be read or is none of this kind, kUnsupported for
/// types, byte orders and Fortran order that are not provided.
[[nodiscard]] Header read_header(const std::string& path);

/// Creates the file with its header and its full length. @throws Error kArgument if it is there
/// already, unless it may be overwritten, or cannot be written, kShape for a shape that the header
/// has no room for.
void create(const std::string& path, Header& header, bool overwrite);

}  // namespace impishim::darray::file::npy
