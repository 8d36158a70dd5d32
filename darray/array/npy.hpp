/// Arrays in NumPy's .npy files: every process writes and reads its own rows (D2O-81, DIS-07). All processes have to see the
/// same file system.
#pragma once

#include <string>

#include "darray/array/dist_array.hpp"

namespace impishim::darray {

namespace npy {

/// What a file's header says.
struct Header {
  Scalar scalar = Scalar::kOpaque;
  Shape shape;
  Index offset = 0;  // of the first element in the file
};

/// The header of a file, on every process. Collective. @throws Error kArgument for a file that cannot be read or is none of
/// this kind, kUnsupported for types, byte orders and Fortran order that are not provided.
[[nodiscard]] Header read_header(const Communicator& communicator, const std::string& path);

/// Creates the file with its header and its full length; header.offset becomes what it is. Collective.
/// @throws Error kArgument if it is there already, unless it may be overwritten, or cannot be written.
void create(const Communicator& communicator, const std::string& path, Header& header, bool overwrite);

/// Writes or reads `bytes` at a position of the file. Collective, also for processes that have none to write.
void write(const Communicator& communicator, const std::string& path, Index position, const void* data, Index bytes);
void read(const Communicator& communicator, const std::string& path, Index position, void* data, Index bytes);

/// Which bytes of the elements are this process's slice: position from the first element, and length. With `once`, of an array
/// that every process holds the first alone has them. @throws Error kLayout for arrays that are not cut in slices.
[[nodiscard]] std::pair<Index, Index> slice_of(const Layout& layout, std::size_t element_size, bool once);

/// @throws Error kShape, kType when a file holds something else.
void check(const Header& header, const std::string& path, Scalar scalar, std::span<const Index> shape);

}  // namespace npy

namespace detail {
inline bool is_sliced(const Layout& layout) {
  return layout.is_contiguous() && (layout.is_everywhere() || layout.slice_bounds().has_value());
}
}  // namespace detail

/// Writes the array. Collective. @throws Error kArgument if the file is there already, unless `overwrite` is set, or on
/// failure.
template <class T>
void save(const DistArray<T>& array, const std::string& path, bool overwrite = false) {
  if (!detail::is_sliced(*array.layout())) {
    save(array.copy_to(Layout::make(array.layout()->context(), array.shape(), kEqual, Checks::kOff)), path, overwrite);
    return;
  }
  const Layout& layout = *array.layout();
  npy::Header header{scalar_of<T>(), array.shape(), 0};
  npy::create(layout.communicator(), path, header, overwrite);
  const auto [position, bytes] = npy::slice_of(layout, sizeof(T), true);
  npy::write(layout.communicator(), path, header.offset + position, array.data() + layout.offset(), bytes);
}

/// Reads into an array. Collective. @throws Error kShape, kType if the file holds another shape or type, kArgument,
/// kUnsupported.
template <class T>
void load(DistArray<T>& array, const std::string& path) {
  const npy::Header header = npy::read_header(array.communicator(), path);
  npy::check(header, path, scalar_of<T>(), array.shape());
  if (!detail::is_sliced(*array.layout())) {
    DistArray<T> sliced(Layout::make(array.layout()->context(), array.shape(), kEqual, Checks::kOff));
    load(sliced, path);
    array.set_full(sliced);
    return;
  }
  const auto [position, bytes] = npy::slice_of(*array.layout(), sizeof(T), false);
  npy::read(array.communicator(), path, header.offset + position, array.data() + array.layout()->offset(), bytes);
  array.set_hermitian(false);
}

/// A new array of the file's shape.
template <class T>
DistArray<T> load(MPI_Comm comm, const std::string& path, const Strategy& strategy = {}, Checks checks = Checks::kOn) {
  const npy::Header header = npy::read_header(Communicator(comm), path);
  const bool freeform = strategy.kind() == kFreeform;
  DistArray<T> array = DistArray<T>::empty(comm, header.shape, freeform ? Strategy(kEqual) : strategy, checks);
  load(array, path);
  return freeform ? array.copy(kFreeform, checks) : std::move(array);
}

}  // namespace impishim::darray
