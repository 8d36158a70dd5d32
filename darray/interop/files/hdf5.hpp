// SPDX-License-Identifier: Apache-2.0
/// Arrays as datasets of HDF5 files, in the forms that h5py also uses: bool is an enumeration of
/// FALSE and TRUE, and complex numbers are compounds of "r" and "i".
///
/// Datasets made here are contiguous and in this machine's representation, so a process can write
/// its elements at their position without HDF5. Datasets of other programs are read with any
/// layout, filters and byte order.
///
/// Several threads may call at once if the HDF5 library allows it, as Debian's does. In a build
/// without HDF5, every function except place_of() and is_available() throws Error(kUnsupported).
#pragma once

#include <optional>
#include <string>

#include "darray/interop/files/array_file.hpp"

namespace impishim::darray::file::hdf5 {

/// Returns true if this build has HDF5.
[[nodiscard]] bool is_available();

/// A dataset in a file.
struct Place {
  std::string file;
  std::string dataset;
};

/// Returns the dataset that a path names: "name.h5" and "name.hdf5" mean the dataset "data" of the
/// file, and "name.h5:group/dataset" means that dataset. Returns nothing for other names. Throws
/// Error(kArgument) if the name of the dataset is empty.
[[nodiscard]] std::optional<Place> place_of(const std::string& path);

/// Reads the description of a dataset. Throws Error(kArgument) if the file or the dataset does not
/// exist or cannot be read. Throws Error(kUnsupported) if the elements have another type.
[[nodiscard]] Header read_header(const Place& place);

/// Makes the dataset, and the file and groups if necessary. Other datasets in the file stay. Throws
/// Error(kArgument) if the dataset exists already and `overwrite` is false. Also throws it if the
/// file exists and is not an HDF5 file, or if it cannot be written. Throws Error(kShape) if there
/// are more axes than HDF5 supports (32).
void create(const Place& place, Header& header, bool overwrite);

/// Reads rows. Throws Error(kArgument) if they cannot be read.
void read(const Place& place, const Header& header, Rows rows, void* data);

}  // namespace impishim::darray::file::hdf5
