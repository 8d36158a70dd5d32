// SPDX-License-Identifier: Apache-2.0
/// Arrays in files that other programs read. The format is HDF5 for names that end in .h5 or .hdf5,
/// and NumPy's .npy for all others. This file does not use MPI. One process creates a file;
/// afterwards any process writes its own rows at their position, and any process reads rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "darray/local/combine.hpp"

namespace impishim::darray::file {

/// The description of a file's array. Elements are in row-major order. A row is the elements with
/// one index on axis 0.
struct Header {
  Scalar scalar = Scalar::kOpaque;
  std::vector<Index> shape;
  /// Bytes from the beginning of the file to the first element. kElsewhere if the elements are not
  /// stored contiguously in their memory format.
  Index offset = kElsewhere;

  static constexpr Index kElsewhere = -1;
};

/// Rows of an array. An array without axes has one row.
struct Rows {
  Index first = 0;
  Index count = 0;
};

/// Returns all rows of an array of this shape. Throws Error(kShape) if the number of elements
/// cannot be counted.
[[nodiscard]] Rows all_rows(std::span<const Index> shape);
[[nodiscard]] Index row_bytes(const Header& header);

/// Reads the description of the array in a file. Throws Error(kArgument) if the file cannot be read
/// or is damaged. Throws Error(kUnsupported) for elements of other types, and for Fortran order or
/// foreign byte order in .npy files.
[[nodiscard]] Header read_header(const std::string& path);

/// Creates the space for an array with the header's scalar and shape, and sets the header's offset.
/// Throws Error(kArgument) if the array exists already and `overwrite` is false, or if the file
/// cannot be written.
void create(const std::string& path, Header& header, bool overwrite);

/// Writes rows of an array for which create() made space. `data` points to the first row; the other
/// rows follow it. Throws Error(kArgument) if the file cannot be written.
void write(const std::string& path, const Header& header, Rows rows, const void* data);

/// Reads rows. Throws Error(kArgument) if the file cannot be read.
void read(const std::string& path, const Header& header, Rows rows, void* data);

/// Checks that the file holds this type and shape. Throws Error(kType) or Error(kShape) if it does
/// not.
void check(const Header& header, const std::string& path, Scalar scalar,
           std::span<const Index> shape);

}  // namespace impishim::darray::file
