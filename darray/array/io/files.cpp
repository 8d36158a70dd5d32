// SPDX-License-Identifier: Apache-2.0
#include "darray/array/io/files.hpp"

#include <array>

namespace impishim::darray::detail {
namespace {

// Returns the rows of this process. With `once`, if every process holds the array, only process 0
// has rows.
file::Rows rows_of(const Layout& layout, std::span<const Index> shape, bool once) {
  if (layout.is_everywhere())
    return once && layout.rank() != 0 ? file::Rows{} : file::all_rows(shape);
  const auto bounds = layout.slice_bounds();
  if (!bounds)
    fail(ErrorKind::kLayout, "an array that is not cut in slices of axis 0 has no slice in a file");
  const auto rank = static_cast<std::size_t>(layout.rank());
  return {(*bounds)[rank], (*bounds)[rank + 1] - (*bounds)[rank]};
}

void broadcast(const Communicator& communicator, file::Header& header) {
  std::array<Index, 3> numbers{static_cast<Index>(header.scalar),
                               static_cast<Index>(header.shape.size()), header.offset};
  check_mpi(MPI_Bcast(numbers.data(), 3, MPI_INT64_T, 0, communicator.get()), "MPI_Bcast");
  header.scalar = static_cast<Scalar>(numbers[0]);
  header.shape.resize(static_cast<std::size_t>(numbers[1]));
  header.offset = numbers[2];
  check_mpi(MPI_Bcast(header.shape.data(), static_cast<int>(numbers[1]), MPI_INT64_T, 0,
                      communicator.get()),
            "MPI_Bcast");
}

}  // namespace

file::Header read_header(const Communicator& communicator, const std::string& path) {
  file::Header header;
  const auto call = [&] { return CollectiveCall("load").with("path", path); };
  agreed(communicator, Checks::kOn, call, [&] {
    if (communicator.rank() == 0) header = file::read_header(path);
  });
  broadcast(communicator, header);
  return header;
}

void create(const Communicator& communicator, const std::string& path, file::Header& header,
            bool overwrite) {
  const auto call = [&] {
    CollectiveCall given("save");
    given.with("path", path)
        .with("overwrite", overwrite)
        .with("element type", name_of(header.scalar));
    return given.with("shape", std::span<const Index>(header.shape));
  };
  agreed(communicator, Checks::kOn, call, [&] {
    if (communicator.rank() == 0) file::create(path, header, overwrite);
  });
  broadcast(communicator, header);
}

void write_rows(const Layout& layout, const std::string& path, const file::Header& header,
                const void* data) {
  agreed(layout.communicator(), Checks::kOn, "save",
         [&] { file::write(path, header, rows_of(layout, header.shape, true), data); });
}

void read_rows(const Layout& layout, const std::string& path, const file::Header& header,
               void* data) {
  agreed(layout.communicator(), Checks::kOn, "load",
         [&] { file::read(path, header, rows_of(layout, header.shape, false), data); });
}

}  // namespace impishim::darray::detail
