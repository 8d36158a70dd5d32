// SPDX-License-Identifier: Apache-2.0
/// Arrays in files that other programs read: HDF5 for names that end in .h5 or .hdf5, NumPy's .npy
/// for all others. No MPI here: one process creates a file, after which any process writes its own
/// rows at their place, and any process reads rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "darray/local/combine.hpp"

namespace impishim::darray::file {

/// What a file says of its array: elements in row-major order, a row being what belongs to one
/// index of axis 0.
struct Header {
  Scalar scalar = Scalar::kOpaque;
  std::vector<Index> shape;
  /// Bytes from the file's beginning to the first element, if all elements follow it just as they
  /// stand in memory.
  Index offset = kElsewhere;

  static constexpr Index kElsewhere = -1;
};

/// Rows of an array; one without axes is one row.
struct Rows {
  Index first = 0;
  Index count = 0;
};

/// Of an array of this shape. @throws Error kShape for more elements than can be counted.
[[nodiscard]] Rows all_rows(std::span<const Index> shape);
[[nodiscard]] Index row_bytes(const Header& header);

/// @throws Error kArgument for a file that cannot be read or is damaged, kUnsupported for what is
/// not provided: elements of other types; Fortran order and foreign byte order in .npy files.
[[nodiscard]] Header read_header(const std::string& path);

/// Makes room for an array: the header's scalar and shape. Its offset becomes what it is.
/// @throws Error kArgument if the array is there already, unless it may be overwritten, or the file
/// cannot be written.
void create(const std::string& path, Header& header, bool overwrite);

/// Writes rows of an array for which create() made room. `data`: the first of them, and the others
/// behind it.
/// @throws Error kArgument if the file cannot be written.
void write(const std::string& path, const Header& header, Rows rows, const void* data);

/// Reads rows. @throws Error kArgument if the file cannot be read.
void read(const std::string& path, const Header& header, Rows rows, void* data);

/// @throws Error kType, kShape if the file holds something else.
void check(const Header& header, const std::string& path, Scalar scalar,
           std::span<const Index> shape);

}  // namespace impishim::darray::file
