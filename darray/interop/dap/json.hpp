// SPDX-License-Identifier: Apache-2.0
/// JSON in and out: dimension dictionaries, whole exports, and the text form of
/// `__array_interface__`.
///   {"__version__": "0.10.0", "buffer": {"version": 3, "typestr": "<f8", "shape": [4], "strides":
///   [8], "data": [address, false]},
///    "dim_data": [{"dist_type": "b", "size": 8, "proc_grid_size": 2, "proc_grid_rank": 0, "start":
///    0, "stop": 4}]}
/// An address means something in the same process only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "darray/interop/dap/export.hpp"

namespace impishim::darray::dap {

/// A list of objects, keys in alphabetical order.
std::string to_json(std::span<const DimData> dimensions);
/// What to_json() writes, or anyone's list of objects; `indices` as a list of integers counts as a
/// buffer. What a value is, read() judges. Error kProtocol: not JSON, or not a list of objects.
std::vector<Dictionary> dictionaries_from_json(std::string_view text);

/// The three keys of an export.
std::string to_json(const Export& exported);
/// Error kProtocol: not JSON, not an object, or a `buffer` that is not an array interface; kType,
/// kShape: as buffer_from_array_interface(). Whatever else is wrong, validate() finds.
ForeignExport export_from_json(std::string_view text);

/// `__array_interface__`, version 3, as JSON.
std::string array_interface(const Buffer& buffer);
/// The other way; `strides` may be absent or null (row-major). Error kProtocol: not JSON or a key
/// missing or of the wrong kind; kType: an element type that is none, or of the other byte order;
/// kShape: no strides, and more bytes than 2^63 - 1.
Buffer buffer_from_array_interface(std::string_view text);

}  // namespace impishim::darray::dap
