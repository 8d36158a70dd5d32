// SPDX-License-Identifier: Apache-2.0
/// Arrays as datasets of HDF5 files, as h5py has them too: bool as its enumeration of FALSE and
/// TRUE, complex numbers as compounds of "r" and "i". Datasets made here are contiguous and in this
/// machine's representation, so that the elements of a process can be written at their place
/// without HDF5; datasets of others are read whatever their layout, filters and byte order are.
/// Threads may call at once where the HDF5 library allows it, as Debian's does. A build without
/// HDF5 refuses everything but place_of() with kUnsupported.
#pragma once

#include <optional>
#include <string>

#include "darray/interop/files/array_file.hpp"

namespace impishim::darray::file::hdf5 {

/// Whether this build has HDF5.
[[nodiscard]] bool is_available();

/// A dataset in a file.
struct Place {
  std::string file;
  std::string dataset;
};

/// "name.h5" and "name.hdf5" are the dataset "data" of the file, "name.h5:group/dataset" is that
/// one; nothing for other names.
[[nodiscard]] std::optional<Place> place_of(const std::string& path);

/// @throws Error kArgument for a file or a dataset that is not there or cannot be read,
/// kUnsupported for elements of other types.
[[nodiscard]] Header read_header(const Place& place);

/// Makes the dataset, and the file and groups if need be. Others in the file stay. @throws Error
/// kArgument if the dataset is there already, unless it may be overwritten, if the file is there
/// and not HDF5's, or cannot be written; kShape for more axes than HDF5 knows (32).
void create(const Place& place, Header& header, bool overwrite);

/// Reads rows. @throws Error kArgument if they cannot be read.
void read(const Place& place, const Header& header, Rows rows, void* data);

}  // namespace impishim::darray::file::hdf5
