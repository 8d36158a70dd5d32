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
    const auto numbers = DistArray<double>::arange(MPI_COMM_WORLD, std::array<impishim::darray::Index, 1>{101});
    const double sum = impishim::darray::sum(MPI_COMM_WORLD, numbers.distribution(), numbers.data());
    if (rank == 0) std::printf("the sum is %g\n", sum);
  }
  MPI_Finalize();
}
