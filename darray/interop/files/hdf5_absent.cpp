// SPDX-License-Identifier: Apache-2.0
// Replaces hdf5.cpp in builds without HDF5.
#include "darray/interop/files/hdf5.hpp"

namespace impishim::darray::file::hdf5 {
namespace {
[[noreturn]] void refuse(const Place& place) {
  fail(ErrorKind::kUnsupported,
       "{}: impishim was built without HDF5: build it with libhdf5-dev installed, or use a name "
       "that ends in .npy",
       place.file);
}
}  // namespace

bool is_available() { return false; }
Header read_header(const Place& place) { refuse(place); }
void create(const Place& place, Header& /*header*/, bool /*overwrite*/) { refuse(place); }
void read(const Place& place, const Header& /*header*/, Rows /*rows*/, void* /*data*/) {
  refuse(place);
}

}  // namespace impishim::darray::file::hdf5
