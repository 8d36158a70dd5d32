// SPDX-License-Identifier: Apache-2.0
#include "darray/communicator/systems.hpp"

#include <map>

#include "darray/communicator/communicator.hpp"
#include "impishim/impishim.h"

namespace impishim::darray {

Systems::Systems(std::vector<int> system_of_rank) : systems_(std::move(system_of_rank)) {
  std::map<int, int> numbers;
  for (int& system : systems_)
    system = numbers.try_emplace(system, static_cast<int>(numbers.size())).first->second;
  count_ = static_cast<int>(numbers.size());
}

Systems Systems::of(MPI_Comm comm) {
  int size = 0;
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  // Without the library the key may belong to the program: Open MPI assigns to a program's first
  // keys the numbers that it has reserved for IMPI. With the library but without other systems, the
  // key is invalid, and MPI must return that error. The caller's duplicate returns its errors.
  int* color = nullptr;
  int found = 0;
  if (impishim_comm_world == nullptr ||
      MPI_Comm_get_attr(comm, IMPI_CLIENT_COLOR, static_cast<void*>(&color), &found) !=
          MPI_SUCCESS ||
      found == 0) {
    return Systems(std::vector<int>(static_cast<std::size_t>(size), 0));
  }
  std::vector<int> colors(static_cast<std::size_t>(size));
  check_mpi(MPI_Allgather(color, 1, MPI_INT, colors.data(), 1, MPI_INT, comm), "MPI_Allgather");
  return Systems(std::move(colors));
}

}  // namespace impishim::darray
