// SPDX-License-Identifier: Apache-2.0
/// How a datatype was made.
#pragma once

#include <mpi.h>

#include <vector>

namespace impishim::shim {

/// The results of MPI_Type_get_envelope and MPI_Type_get_contents. Frees the inner handles that
/// they created.
struct DatatypeContents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;

  DatatypeContents() = default;
  DatatypeContents(const DatatypeContents&) = delete;
  DatatypeContents& operator=(const DatatypeContents&) = delete;
  ~DatatypeContents();

  /// Reads a datatype. Returns false if it is not valid.
  [[nodiscard]] bool read(MPI_Datatype datatype);
};

}  // namespace impishim::shim
