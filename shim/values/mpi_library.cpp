// SPDX-License-Identifier: Apache-2.0
#include "shim/values/mpi_library.hpp"

#include <string_view>

namespace impishim::shim {

std::string_view mpi_of_library(std::string_view file) {
  if (file.starts_with("libmpi_abi.so")) return "abi";
  if (file.starts_with("libmpich.so") || file.starts_with("libmpi.so.12")) return "mpich";
  if (file.starts_with("libmpi.so.40")) return "openmpi";
  return {};
}

}  // namespace impishim::shim
