// SPDX-License-Identifier: Apache-2.0
#include "shim/datatype/datatype_contents.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "shim/vendor.hpp"

namespace impishim::shim {

DatatypeContents::~DatatypeContents() {
  for (MPI_Datatype& type : types) {
    int integers_of = 0;
    int addresses_of = 0;
    int types_of = 0;
    int combiner_of = 0;
    if (vendor::Type_get_envelope(type, &integers_of, &addresses_of, &types_of, &combiner_of) !=
        MPI_SUCCESS)
      continue;
    const bool unnamed =
        combiner_of != MPI_COMBINER_NAMED && combiner_of != MPI_COMBINER_F90_REAL &&
        combiner_of != MPI_COMBINER_F90_COMPLEX && combiner_of != MPI_COMBINER_F90_INTEGER;
    if (unnamed) vendor::Type_free(&type);
  }
}

bool DatatypeContents::read(MPI_Datatype datatype) {
  int integer_count = 0;
  int address_count = 0;
  int type_count = 0;
  if (vendor::Type_get_envelope(datatype, &integer_count, &address_count, &type_count, &combiner) !=
      MPI_SUCCESS)
    return false;
  if (combiner == MPI_COMBINER_NAMED) return true;
  integers.resize(static_cast<std::size_t>(integer_count));
  addresses.resize(static_cast<std::size_t>(address_count));
  std::vector<MPI_Datatype> made(static_cast<std::size_t>(type_count), MPI_DATATYPE_NULL);
  if (vendor::Type_get_contents(datatype, integer_count, address_count, type_count, integers.data(),
                                addresses.data(), made.data()) != MPI_SUCCESS)
    return false;
  types = std::move(made);
  return true;
}

}  // namespace impishim::shim
