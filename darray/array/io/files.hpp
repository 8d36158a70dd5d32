/// Arrays in files, HDF5's or NumPy's (darray/interop/files/array_file.hpp): every process writes
/// and reads its own rows (D2O-81, DIS-07). All processes have to see the same file system.
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

/// Collective forms of the functions of the same name in darray/interop/files/array_file.hpp: one
/// process reads headers and creates files for all, errors are all processes'.
[[nodiscard]] file::Header read_header(const Communicator& communicator, const std::string& path);
void create(const Communicator& communicator, const std::string& path, file::Header& header,
            bool overwrite);

/// The rows that this process owns, one behind the other in memory. @throws Error kLayout for
/// arrays that are not sliced.
void write_rows(const Layout& layout, const std::string& path, const file::Header& header,
                const void* data);
void read_rows(const Layout& layout, const std::string& path, const file::Header& header,
               void* data);

/// Every process holds rows that follow each other, in the file's order, or all of them.
inline bool is_sliced(const Layout& layout) {
  return layout.is_contiguous() && (layout.is_everywhere() || layout.slice_bounds().has_value());
}

}  // namespace detail

/// Writes the array. Collective. Of an HDF5 file, other datasets stay as they are.
/// @throws Error kArgument if it is there already, unless `overwrite` is set, or on failure.
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

/// Reads into an array. Collective. @throws Error kShape, kType if the file holds another shape or
/// type, kArgument, kUnsupported.
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

/// A new array of the file's shape.
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
