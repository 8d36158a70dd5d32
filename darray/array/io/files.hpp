// SPDX-License-Identifier: Apache-2.0
/// Arrays in HDF5 or NumPy files (darray/interop/files/array_file.hpp). Every process writes and
/// reads its own rows (D2O-81, DIS-07). All processes must see the same file system.
///
///   save(array, "result.h5");                    the dataset "data" of an HDF5 file
///   save(array, "run.h5:step/17/density");       that dataset; others in the file stay
///   save(array, "result.npy");                   what numpy.load() reads
///   auto array = load<double>(MPI_COMM_WORLD, "run.h5:step/17/density");
#pragma once

#include <string>

#include "darray/array/core/dist_array.hpp"
#include "darray/interop/files/array_file.hpp"

namespace impishim::darray {

namespace detail {

/// Collective forms of the functions of the same name in darray/interop/files/array_file.hpp. One
/// process reads headers and creates files for all. All processes throw its errors.
[[nodiscard]] file::Header read_header(const Communicator& communicator, const std::string& path);
void create(const Communicator& communicator, const std::string& path, file::Header& header,
            bool overwrite);

/// Write and read the rows that this process owns, which are contiguous in memory. Throw
/// Error(kLayout) if the array is not sliced.
void write_rows(const Layout& layout, const std::string& path, const file::Header& header,
                const void* data);
void read_rows(const Layout& layout, const std::string& path, const file::Header& header,
               void* data);

/// Returns true if every process holds consecutive rows in the file's order, or all rows.
inline bool is_sliced(const Layout& layout) {
  return layout.is_contiguous() && (layout.is_everywhere() || layout.slice_bounds().has_value());
}

}  // namespace detail

/// Writes the array. Collective. Other datasets of an HDF5 file do not change. Throws
/// Error(kArgument) if the target exists already and `overwrite` is not set, or on failure.
template <class T>
void save(const DistArray<T>& array, const std::string& path, bool overwrite = false) {
  const Layout& layout = *array.layout();
  if (!detail::is_sliced(layout)) {
    save(array.copy_to(Layout::make(layout.context(), array.shape(), kEqual, Checks::kOff)), path,
         overwrite);
    return;
  }
  file::Header header{scalar_of<T>(), array.shape()};
  detail::create(layout.communicator(), path, header, overwrite);
  detail::write_rows(layout, path, header, array.data() + layout.offset());
}

/// Reads into an array. Collective. Throws Error(kShape) or Error(kType) if the file holds another
/// shape or type, and Error(kArgument) or Error(kUnsupported).
template <class T>
void load(DistArray<T>& array, const std::string& path) {
  const Layout& layout = *array.layout();
  const file::Header header = detail::read_header(layout.communicator(), path);
  file::check(header, path, scalar_of<T>(), array.shape());
  if (!detail::is_sliced(layout)) {
    DistArray<T> sliced(Layout::make(layout.context(), array.shape(), kEqual, Checks::kOff));
    detail::read_rows(*sliced.layout(), path, header, sliced.data() + sliced.layout()->offset());
    array.set_full(sliced);
    return;
  }
  detail::read_rows(layout, path, header, array.data() + layout.offset());
  array.set_hermitian(false);
}

/// Reads a new array of the file's shape.
template <class T>
DistArray<T> load(MPI_Comm comm, const std::string& path, const Strategy& strategy = {},
                  Checks checks = Checks::kOn) {
  const file::Header header = detail::read_header(Communicator(comm), path);
  const bool freeform = strategy.kind() == kFreeform;
  DistArray<T> array =
      DistArray<T>::empty(comm, header.shape, freeform ? Strategy(kEqual) : strategy, checks);
  load(array, path);
  return freeform ? array.copy(kFreeform, checks) : std::move(array);
}

}  // namespace impishim::darray
