// SPDX-License-Identifier: Apache-2.0
// A distributed array by the installed headers and library alone.
#include <array>
#include <cstdio>

#include "darray/darray.hpp"
#include "impishim/impishim.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  {
    using impishim::darray::DistArray;
    const auto numbers =
        DistArray<double>::arange(MPI_COMM_WORLD, std::array<impishim::darray::Index, 1>{101});
    const double sum =
        impishim::darray::sum(MPI_COMM_WORLD, numbers.distribution(), numbers.data());
    int* systems = nullptr;
    int found = 0;
    if (impishim_comm_world != nullptr)
      MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_SIZE, static_cast<void*>(&systems), &found);
    if (rank == 0 && found != 0) std::printf("%d systems: ", *systems);
    if (rank == 0) std::printf("the sum is %g\n", sum);
  }
  MPI_Finalize();
}
