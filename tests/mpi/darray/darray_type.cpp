// SPDX-License-Identifier: Apache-2.0
// The pieces of block and block-cyclic layouts are those that MPI_Type_create_darray() selects:
// every extent up to 24 on up to 4 processes with blocks of up to 6, and arrays of two and three
// axes on grids.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include "darray/index/make_distribution.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim::darray::Axis;
using impishim::darray::DimMap;
using impishim::darray::Distribution;
using impishim::darray::Index;
using impishim::darray::ProcessGrid;
using Numbers = std::vector<int>;

/// One axis as MPI_Type_create_darray() is told about it.
struct MpiAxis {
  int extent;
  int distribution;
  int argument;
  int processes;
};

int cases_checked = 0;

DimMap map_of(const MpiAxis& axis) {
  if (axis.distribution == MPI_DISTRIBUTE_NONE) return DimMap::collapsed(axis.extent);
  const bool by_default = axis.argument == MPI_DISTRIBUTE_DFLT_DARG;
  if (axis.distribution == MPI_DISTRIBUTE_CYCLIC) {
    return DimMap::block_cyclic(axis.extent, axis.processes, by_default ? 1 : axis.argument);
  }
  if (by_default) return DimMap::block(axis.extent, axis.processes);
  std::vector<Index> bounds{0};
  for (int part = 1; part <= axis.processes; ++part)
    bounds.push_back(std::min<Index>(axis.extent, part * axis.argument));
  return DimMap::bounded(bounds);
}

Distribution layout_of(const std::vector<MpiAxis>& axes) {
  std::vector<int> extents;
  std::vector<Axis> mapped;
  for (const MpiAxis& axis : axes) {
    // MPI's grid has a dimension for each axis.
    mapped.push_back({map_of(axis), static_cast<int>(extents.size())});
    extents.push_back(axis.processes);
  }
  return {ProcessGrid(extents), mapped};
}

/// The flat global indices of a process's elements, in the row-major order of its local ones.
Numbers piece(const Distribution& layout, int rank) {
  Numbers all;
  const std::vector<Index> owned = layout.owned_shape(rank);
  for (Index number = 0; number < layout.owned_size(rank); ++number) {
    std::vector<Index> local(owned.size());
    Index rest = number;
    for (std::size_t axis = owned.size(); axis-- > 0; rest /= owned[axis])
      local[axis] = rest % owned[axis];
    Index flat = 0;
    const std::vector<Index> global = layout.to_global(rank, local);
    for (std::size_t axis = 0; axis < global.size(); ++axis)
      flat = flat * layout.shape()[axis] + global[axis];
    all.push_back(static_cast<int>(flat));
  }
  return all;
}

Numbers selected(const std::vector<MpiAxis>& axes, int processes, int rank) {
  Numbers extents;
  Numbers distributions;
  Numbers arguments;
  Numbers grid;
  int size = 1;
  for (const MpiAxis& axis : axes) {
    extents.push_back(axis.extent);
    distributions.push_back(axis.distribution);
    arguments.push_back(axis.argument);
    grid.push_back(axis.processes);
    size *= axis.extent;
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  REQUIRE_EQUAL(MPI_Type_create_darray(processes, rank, static_cast<int>(axes.size()),
                                       extents.data(), distributions.data(), arguments.data(),
                                       grid.data(), MPI_ORDER_C, MPI_INT, &type),
                MPI_SUCCESS);
  REQUIRE_EQUAL(MPI_Type_commit(&type), MPI_SUCCESS);
  int bytes = -1;
  MPI_Type_size(type, &bytes);
  Numbers array(static_cast<std::size_t>(size));
  std::iota(array.begin(), array.end(), 0);
  Numbers all(static_cast<std::size_t>(bytes) / sizeof(int), -1);
  MPI_Sendrecv(array.data(), 1, type, 0, 0, all.data(), static_cast<int>(all.size()), MPI_INT, 0, 0,
               MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
  return all;
}

void check(const std::vector<MpiAxis>& axes) {
  const Distribution layout = layout_of(axes);
  for (int rank = 0; rank < layout.grid().size(); ++rank) {
    const Numbers mine = piece(layout, rank);
    const Numbers theirs = selected(axes, layout.grid().size(), rank);
    if (mine != theirs) {
      for (const MpiAxis& axis : axes) {
        std::fprintf(stderr, "extent %d, distribution %d, argument %d, processes %d\n", axis.extent,
                     axis.distribution, axis.argument, axis.processes);
      }
    }
    REQUIRE_EQUAL(mine.size(), theirs.size());
    REQUIRE(mine == theirs);
    ++cases_checked;
  }
}

void check_single_axes() {
  for (int extent = 1; extent <= 24; ++extent) {
    for (int processes = 1; processes <= 4; ++processes) {
      check({{extent, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, processes}});
      check({{extent, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, processes}});
      const int even = (extent + processes - 1) / processes;
      for (int block = 1; block <= 6; ++block) {
        check({{extent, MPI_DISTRIBUTE_CYCLIC, block, processes}});
        // Blocks that are longer than they need to be.
        check({{extent, MPI_DISTRIBUTE_BLOCK, even + block - 1, processes}});
      }
    }
  }
}

void check_grids() {
  const std::vector<MpiAxis> rows{{5, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, 2},
                                  {6, MPI_DISTRIBUTE_CYCLIC, 2, 2},
                                  {3, MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_DFLT_DARG, 1},
                                  {7, MPI_DISTRIBUTE_CYCLIC, 3, 3},
                                  {8, MPI_DISTRIBUTE_BLOCK, 4, 3}};
  for (const MpiAxis& first : rows) {
    for (const MpiAxis& second : rows) {
      check({first, second});
      for (const MpiAxis& third : rows) check({first, second, third});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_single_axes();
  check_grids();
  std::printf("rank %d: %d pieces as MPI_Type_create_darray has them\n",
              impishim_test::rank_in(MPI_COMM_WORLD), cases_checked);
  MPI_Finalize();
  return 0;
}
