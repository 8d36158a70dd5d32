// SPDX-License-Identifier: Apache-2.0
// Cartesian topologies of every shape that fits, on the world and on the world backwards: what each
// process knows of its grid and its neighbours is what coordinates say; sub-grids, duplicates, and
// what is no grid.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/mpi/topologies/checks.hpp"
#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::check_members;
using impishim_test::members_of;
using impishim_test::rank_in;
using impishim_test::size_of;
using impishim_test::topology_of;
using Numbers = std::vector<int>;

Numbers coordinates_of(int rank, const Numbers& dims) {
  Numbers coordinates(dims.size());
  for (std::size_t d = dims.size(); d-- > 0;) {
    coordinates[d] = rank % dims[d];
    rank /= dims[d];
  }
  return coordinates;
}

int rank_of(const Numbers& coordinates, const Numbers& dims) {
  int rank = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) rank = rank * dims[d] + coordinates[d];
  return rank;
}

int neighbour(int rank, const Numbers& dims, const Numbers& periods, int dimension,
              int displacement) {
  Numbers place = coordinates_of(rank, dims);
  const auto d = static_cast<std::size_t>(dimension);
  place[d] += displacement;
  if (periods[d] != 0) place[d] = ((place[d] % dims[d]) + dims[d]) % dims[d];
  return place[d] < 0 || place[d] >= dims[d] ? MPI_PROC_NULL : rank_of(place, dims);
}

void check_grid(MPI_Comm grid, const Numbers& dims, const Numbers& periods) {
  const int count = static_cast<int>(dims.size());
  const int rank = rank_in(grid);
  REQUIRE_EQUAL(topology_of(grid), MPI_CART);
  int dimensions = -1;
  REQUIRE_EQUAL(MPI_Cartdim_get(grid, &dimensions), MPI_SUCCESS);
  REQUIRE_EQUAL(dimensions, count);
  Numbers got_dims(dims.size() + 1, -9);
  Numbers got_periods(dims.size() + 1, -9);
  Numbers got_coordinates(dims.size() + 1, -9);
  MPI_Cart_get(grid, count, got_dims.data(), got_periods.data(), got_coordinates.data());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    REQUIRE_EQUAL(got_dims[d], dims[d]);
    REQUIRE_EQUAL(got_periods[d] != 0, periods[d] != 0);
    REQUIRE_EQUAL(got_coordinates[d], coordinates_of(rank, dims)[d]);
  }
  REQUIRE_EQUAL(got_dims.back(), -9);
  for (int each = 0; each < size_of(grid) && count > 0; ++each) {
    Numbers coordinates(dims.size(), -9);
    MPI_Cart_coords(grid, each, count, coordinates.data());
    REQUIRE(coordinates == coordinates_of(each, dims));
    int back = -1;
    for (std::size_t d = 0; d < dims.size(); ++d)
      coordinates[d] += periods[d] != 0 ? 3 * dims[d] : 0;
    MPI_Cart_rank(grid, coordinates.data(), &back);
    REQUIRE_EQUAL(back, each);
  }
  for (int d = 0; d < count; ++d) {
    for (const int displacement : {1, -1, 0, 2, 7}) {
      int source = -9;
      int destination = -9;
      REQUIRE_EQUAL(MPI_Cart_shift(grid, d, displacement, &source, &destination), MPI_SUCCESS);
      REQUIRE_EQUAL(source, neighbour(rank, dims, periods, d, -displacement));
      REQUIRE_EQUAL(destination, neighbour(rank, dims, periods, d, displacement));
      int from = -9;
      MPI_Sendrecv(&rank, 1, MPI_INT, destination, 3, &from, 1, MPI_INT, source, 3, grid,
                   MPI_STATUS_IGNORE);
      REQUIRE_EQUAL(from, source == MPI_PROC_NULL ? -9 : source);
    }
  }
}

void check_sub_grids(MPI_Comm grid, const Numbers& dims, const Numbers& periods) {
  const auto members = members_of(grid);
  const Numbers here = coordinates_of(rank_in(grid), dims);
  // Without any dimension the libraries differ: MPICH makes one grid of one process, Open MPI one
  // for each.
  for (int mask = 1; mask < 1 << dims.size(); ++mask) {
    Numbers remain;
    Numbers rest_dims;
    Numbers rest_periods;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      remain.push_back(mask >> d & 1);
      if (remain.back() == 0) continue;
      rest_dims.push_back(dims[d]);
      rest_periods.push_back(periods[d]);
    }
    MPI_Comm part = MPI_COMM_NULL;
    REQUIRE_EQUAL(MPI_Cart_sub(grid, remain.data(), &part), MPI_SUCCESS);
    Numbers part_members;
    for (int rank = 0; rank < size_of(grid); ++rank) {
      const Numbers there = coordinates_of(rank, dims);
      bool same = true;
      for (std::size_t d = 0; d < dims.size(); ++d)
        same = same && (remain[d] != 0 || there[d] == here[d]);
      if (same) part_members.push_back(members[static_cast<std::size_t>(rank)]);
    }
    check_members(part, part_members);
    check_grid(part, rest_dims, rest_periods);
    MPI_Comm_free(&part);
  }
}

void check_shape(MPI_Comm parent, const Numbers& dims, const Numbers& periods) {
  int nodes = 1;
  for (const int dim : dims) nodes *= dim;
  const int count = static_cast<int>(dims.size());
  MPI_Comm grid = MPI_COMM_WORLD;
  REQUIRE_EQUAL(MPI_Cart_create(parent, count, dims.data(), periods.data(), 0, &grid), MPI_SUCCESS);
  if (!impishim_test::check_place(grid, parent, nodes)) return;
  check_grid(grid, dims, periods);
  check_sub_grids(grid, dims, periods);

  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm_dup(grid, &twin);
  check_grid(twin, dims, periods);
  MPI_Comm_free(&twin);
  MPI_Comm plain = MPI_COMM_NULL;
  MPI_Comm_split(grid, 0, 0, &plain);
  REQUIRE_EQUAL(topology_of(plain), MPI_UNDEFINED);
  MPI_Comm_free(&plain);
  MPI_Comm_free(&grid);
}

void check_shapes(MPI_Comm parent) {
  const int size = size_of(parent);
  for (int rows = 1; rows <= size; ++rows) {
    check_shape(parent, {rows}, {rows % 2});
    for (int columns = 1; rows * columns <= size; ++columns) {
      for (const int periodic : {0, 1, 2, 3})
        check_shape(parent, {rows, columns}, {periodic & 1, periodic & 2});
    }
  }
  check_shape(parent, {1, size, 1}, {1, 1, 0});
}

/// Reordering may change who is where, but not what a grid is.
void check_reordered() {
  const int size = size_of(MPI_COMM_WORLD);
  const Numbers dims{size, 1};
  const Numbers periods{1, 0};
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims.data(), periods.data(), 1, &grid);
  check_members(grid, members_of(grid));
  check_grid(grid, dims, periods);
  MPI_Comm_free(&grid);
  int mapped = -9;
  REQUIRE_EQUAL(MPI_Cart_map(MPI_COMM_WORLD, 2, dims.data(), periods.data(), &mapped), MPI_SUCCESS);
  REQUIRE(mapped >= 0 && mapped < size);
  const int one = 1;
  MPI_Cart_map(MPI_COMM_WORLD, 1, &one, &one, &mapped);
  // Open MPI 4.1.4 by itself gives all processes a place.
  if (impishim_test::in_joined_job()) REQUIRE(mapped == 0 || mapped == MPI_UNDEFINED);
}

void check_dims() {
  for (int nodes = 1; nodes <= 64; ++nodes) {
    for (int count = 1; count <= 4; ++count) {
      Numbers dims(static_cast<std::size_t>(count), 0);
      REQUIRE_EQUAL(MPI_Dims_create(nodes, count, dims.data()), MPI_SUCCESS);
      int product = 1;
      for (const int dim : dims) product *= dim;
      REQUIRE_EQUAL(product, nodes);
      REQUIRE(std::is_sorted(dims.rbegin(), dims.rend()));
      // All ranks get the same.
      Numbers lowest(dims.size());
      MPI_Allreduce(dims.data(), lowest.data(), count, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
      REQUIRE(lowest == dims);
    }
  }
  Numbers given{0, 3, 0};
  MPI_Dims_create(12, 3, given.data());
  REQUIRE(given == (Numbers{2, 3, 2}));
}

void check_errors() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int size = size_of(comm);
  MPI_Comm grid = MPI_COMM_NULL;
  const Numbers too_many{size, 2};
  const Numbers negative{-1, 1};
  const Numbers periods{0, 0};
  REQUIRE(MPI_Cart_create(comm, 2, too_many.data(), periods.data(), 0, &grid) != MPI_SUCCESS);
  REQUIRE(MPI_Cart_create(comm, 2, negative.data(), periods.data(), 0, &grid) != MPI_SUCCESS);
  int number = -1;
  const auto class_of = [](int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
  };
  REQUIRE_EQUAL(class_of(MPI_Cartdim_get(comm, &number)), MPI_ERR_TOPOLOGY);
  REQUIRE_EQUAL(class_of(MPI_Cart_rank(comm, periods.data(), &number)), MPI_ERR_TOPOLOGY);
  int nodes = 0;
  REQUIRE_EQUAL(class_of(MPI_Graphdims_get(comm, &nodes, &number)), MPI_ERR_TOPOLOGY);
  Numbers dims{0, 5};
  REQUIRE(MPI_Dims_create(12, 2, dims.data()) != MPI_SUCCESS);

  const Numbers line{size};
  MPI_Cart_create(comm, 1, line.data(), periods.data(), 0, &grid);
  // The handler is inherited.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(grid, &handler);
  REQUIRE(handler == MPI_ERRORS_RETURN);
  REQUIRE(MPI_Cart_rank(grid, line.data(), &number) != MPI_SUCCESS);  // one beyond the last
  REQUIRE(MPI_Cart_coords(grid, size, 1, dims.data()) != MPI_SUCCESS);
  int source = 0;
  REQUIRE(MPI_Cart_shift(grid, 1, 1, &source, &number) != MPI_SUCCESS);
  MPI_Comm_free(&grid);
  MPI_Comm_free(&comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm backwards = impishim_test::world_backwards();
  REQUIRE_EQUAL(topology_of(MPI_COMM_WORLD), MPI_UNDEFINED);
  check_shapes(MPI_COMM_WORLD);
  check_shapes(backwards);
  MPI_Comm_free(&backwards);
  check_reordered();
  check_dims();
  if (impishim_test::in_joined_job()) check_errors();
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("grids of %d ranks: right\n", size_of(MPI_COMM_WORLD));
  MPI_Finalize();
  return 0;
}
