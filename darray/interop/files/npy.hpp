// SPDX-License-Identifier: Apache-2.0
/// Headers of NumPy's .npy files, versions 1 to 3 (NumPy Enhancement Proposal 1).
#pragma once

#include <string>

#include "darray/interop/files/array_file.hpp"

namespace impishim::darray::file::npy {

/// Reads the header of a file. Throws Error(kArgument) if the file cannot be read or is not a .npy
/// file. Throws Error(kUnsupported) for other versions, and for types, byte orders and Fortran
/// order that are not supported.
[[nodiscard]] Header read_header(const std::string& path);

/// Creates the file with its header and its full length. Throws Error(kArgument) if the file exists
/// already and `overwrite` is false, or if it cannot be written. Throws Error(kShape) if the shape
/// does not fit the header.
void create(const std::string& path, Header& header, bool overwrite);

}  // namespace impishim::darray::file::npy
