// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/files/array_file.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "darray/interop/files/hdf5.hpp"
#include "darray/interop/files/npy.hpp"
#include "darray/interop/files/raw_file.hpp"

namespace impishim::darray::file {

Rows all_rows(std::span<const Index> shape) {
  static_cast<void>(element_count(shape));
  return {0, shape.empty() ? 1 : shape[0]};
}

Index row_bytes(const Header& header) {
  const std::span<const Index> shape(header.shape);
  return element_count(shape.subspan(std::min<std::size_t>(1, shape.size()))) *
         static_cast<Index>(size_of(header.scalar));
}

Header read_header(const std::string& path) {
  const auto place = hdf5::place_of(path);
  Header header = place ? hdf5::read_header(*place) : npy::read_header(path);
  static_cast<void>(element_count(header.shape));
  return header;
}

void create(const std::string& path, Header& header, bool overwrite) {
  if (const auto place = hdf5::place_of(path)) {
    hdf5::create(*place, header, overwrite);
  } else {
    npy::create(path, header, overwrite);
  }
}

void write(const std::string& path, const Header& header, Rows rows, const void* data) {
  const Index row = row_bytes(header);
  if (rows.count * row == 0) return;
  const auto place = hdf5::place_of(path);
  RawFile file(place ? place->file : path, O_WRONLY);
  file.write(header.offset + rows.first * row, data, rows.count * row);
  file.finish();
}

void read(const std::string& path, const Header& header, Rows rows, void* data) {
  const Index row = row_bytes(header);
  if (rows.count * row == 0) return;
  if (const auto place = hdf5::place_of(path)) {
    hdf5::read(*place, header, rows, data);
  } else {
    RawFile(path, O_RDONLY).read(header.offset + rows.first * row, data, rows.count * row);
  }
}

void check(const Header& header, const std::string& path, Scalar scalar,
           std::span<const Index> shape) {
  if (header.scalar != scalar) {
    fail(ErrorKind::kType, "{}: has elements of type {}, not {}", path, name_of(header.scalar),
         name_of(scalar));
  }
  if (!std::ranges::equal(header.shape, shape)) {
    fail(ErrorKind::kShape, "{}: has shape ({}), not ({})", path, fmt::join(header.shape, ", "),
         fmt::join(shape, ", "));
  }
}

}  // namespace impishim::darray::file
