// SPDX-License-Identifier: Apache-2.0
/// JSON input and output of dimension dictionaries, whole exports, and the text form of
/// `__array_interface__`:
///   {"__version__": "0.10.0",
///    "buffer": {"version": 3, "typestr": "<f8", "shape": [4], "strides": [8],
///               "data": [address, false]},
///    "dim_data": [{"dist_type": "b", "size": 8, "proc_grid_size": 2, "proc_grid_rank": 0,
///                  "start": 0, "stop": 4}]}
/// An address is valid in the same process only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "darray/interop/dap/export.hpp"

namespace impishim::darray::dap {

/// Returns a list of objects as JSON, with keys in alphabetical order.
std::string to_json(std::span<const DimData> dimensions);
/// Reads a list of objects, whether to_json() or another program wrote it. A list of integers as
/// `indices` counts as a buffer. Values are not checked here; read() checks them. Throws
/// Error(kProtocol) if the text is not JSON, or not a list of objects.
std::vector<Dictionary> dictionaries_from_json(std::string_view text);

/// Returns an export as JSON, with its three keys.
std::string to_json(const Export& exported);
/// Reads an export. Throws Error(kProtocol) if the text is not JSON, is not an object, or has a
/// `buffer` that is not an array interface. Throws Error(kType) or Error(kShape) as
/// buffer_from_array_interface() does. validate() finds all other violations.
ForeignExport export_from_json(std::string_view text);

/// Returns `__array_interface__`, version 3, as JSON.
std::string array_interface(const Buffer& buffer);
/// Reads `__array_interface__`. `strides` may be absent or null, which means row-major. Throws
/// Error(kProtocol) if the text is not JSON, or if a key is missing or of the wrong kind. Throws
/// Error(kType) if the element type is invalid or has the other byte order. Throws Error(kShape) if
/// there are no strides and the buffer exceeds 2^63 - 1 bytes.
Buffer buffer_from_array_interface(std::string_view text);

}  // namespace impishim::darray::dap
