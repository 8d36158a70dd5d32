// SPDX-License-Identifier: Apache-2.0
// MPI_Cart_*, MPI_Dims_create, MPI_Topo_test (MPI-3.1 7.5). Ranks are not reordered.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "shim/coll/collective_queue.hpp"
#include "shim/comm/blocking_creation.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/native.hpp"
#include "shim/topo/topology_make.hpp"
#include "shim/values/dims.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/values/topology.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

/// Computes the number of processes of a grid, which must fit into `parent`. Returns MPI_SUCCESS or
/// an error code that has been raised.
int check_grid(Fail report, Communicator& parent, const char* function, int ndims, const int* dims,
               std::int32_t& nodes) {
  if (const int code = check_intra(parent, function); code != MPI_SUCCESS) return code;
  if (ndims < 0) return report(parent, function, MPI_ERR_ARG, fmt::format("{} dimensions", ndims));
  std::int64_t product = 1;
  for (const int dim : std::span(dims, static_cast<std::size_t>(ndims))) {
    if (dim < 1)
      return report(parent, function, MPI_ERR_DIMS, fmt::format("a dimension of {}", dim));
    product *= dim;
    if (product <= parent.size()) continue;
    return report(parent, function, MPI_ERR_ARG,
                  fmt::format("the grid has more than {} processes", parent.size()));
  }
  nodes = static_cast<std::int32_t>(product);
  return MPI_SUCCESS;
}

CartesianTopology grid_of(int ndims, const int* dims, const int* periods) {
  CartesianTopology grid;
  for (int d = 0; d < ndims; ++d) {
    grid.dims.push_back(dims[d]);
    grid.periods.push_back(periods[d] != 0);
  }
  return grid;
}

/// Creates the vendor's grid for a native part.
int native_grid(const CartesianTopology& grid, MPI_Comm from, MPI_Comm* newcomm) {
  const std::vector<int> dims(grid.dims.begin(), grid.dims.end());
  const std::vector<int> periods(grid.periods.begin(), grid.periods.end());
  return vendor::Cart_create(from, static_cast<int>(dims.size()), dims.data(), periods.data(), 0,
                             newcomm);
}

int make_grid(Job& job, Communicator& parent, const char* function, int color, int key,
              RankList members, const CartesianTopology& grid, MPI_Comm* newcomm) {
  const auto native = [&](MPI_Comm from, MPI_Comm* made) { return native_grid(grid, from, made); };
  return make_topology(job, parent, function, {color, key, std::move(members), grid}, native,
                       newcomm);
}

}  // namespace

namespace calls {

int Topo_test(Job& job, MPI_Comm comm, int* status) {
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Topo_test(comm, status);
  // In the order of Topology::graph.
  constexpr int kKinds[] = {MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH};
  *status = communicator->topology == nullptr ? MPI_UNDEFINED
                                              : kKinds[communicator->topology->graph.index()];
  return MPI_SUCCESS;
}

int Dims_create(Job& job, int nnodes, int ndims, int* dims) {
  // The MPI libraries of different systems would choose different dimensions.
  if (job.map.at_start().clients().size() == 1) return vendor::Dims_create(nnodes, ndims, dims);
  constexpr const char* kFunction = "MPI_Dims_create";
  if (ndims < 0)
    return raise(MPI_COMM_WORLD, MPI_ERR_DIMS, kFunction, fmt::format("{} dimensions", ndims));
  const auto chosen = choose_dims(nnodes, {dims, static_cast<std::size_t>(ndims)});
  return chosen ? MPI_SUCCESS : raise(MPI_COMM_WORLD, MPI_ERR_DIMS, kFunction, chosen.error().text);
}

int Cart_create(Job& job, MPI_Comm comm, int ndims, const int* dims, const int* periods,
                int reorder, MPI_Comm* newcomm) {
  constexpr const char* kFunction = "MPI_Cart_create";
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr) {
    return create_native(job, comm, [&] {
      return native::Cart_create(job, comm, ndims, dims, periods, reorder, newcomm);
    });
  }
  std::int32_t nodes = 0;
  if (const int code = check_grid(fail_collective, *parent, kFunction, ndims, dims, nodes);
      code != MPI_SUCCESS)
    return code;
  RankList members(parent->members.begin(), parent->members.begin() + nodes);
  const int color = parent->rank < nodes ? 0 : MPI_UNDEFINED;
  return make_grid(job, *parent, kFunction, color, parent->rank, std::move(members),
                   grid_of(ndims, dims, periods), newcomm);
}

int Cart_sub(Job& job, MPI_Comm comm, const int* remain_dims, MPI_Comm* newcomm) {
  constexpr const char* kFunction = "MPI_Cart_sub";
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr)
    return create_native(job, comm,
                         [&] { return native::Cart_sub(job, comm, remain_dims, newcomm); });
  int code = MPI_SUCCESS;
  const auto* grid = topology_of<CartesianTopology>(*parent, kFunction, code);
  if (grid == nullptr) return code;
  std::vector<bool> dropped;
  for (std::size_t d = 0; d < grid->dimensions(); ++d) dropped.push_back(remain_dims[d] == 0);
  const auto mine = grid->part_of(parent->rank, dropped);
  RankList members;
  // The ranks of a part ascend with the ranks of the whole grid.
  for (std::int32_t rank = 0; rank < parent->size(); ++rank) {
    if (grid->part_of(rank, dropped).number == mine.number)
      members.push_back(parent->members[static_cast<std::size_t>(rank)]);
  }
  return make_grid(job, *parent, kFunction, mine.number, mine.rank, std::move(members),
                   grid->without(dropped), newcomm);
}

int Cart_map(Job& job, MPI_Comm comm, int ndims, const int* dims, const int* periods,
             int* newrank) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Cart_map(comm, ndims, dims, periods, newrank);
  std::int32_t nodes = 0;
  const int code = check_grid(fail_alone, *communicator, "MPI_Cart_map", ndims, dims, nodes);
  if (code == MPI_SUCCESS)
    *newrank = communicator->rank < nodes ? communicator->rank : MPI_UNDEFINED;
  return code;
}

int Cartdim_get(Job& job, MPI_Comm comm, int* ndims) {
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Cartdim_get(comm, ndims);
  int code = MPI_SUCCESS;
  const auto* grid = topology_of<CartesianTopology>(*communicator, "MPI_Cartdim_get", code);
  if (grid != nullptr) *ndims = static_cast<int>(grid->dimensions());
  return code;
}

int Cart_get(Job& job, MPI_Comm comm, int maxdims, int* dims, int* periods, int* coords) {
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Cart_get(comm, maxdims, dims, periods, coords);
  int code = MPI_SUCCESS;
  const auto* grid = topology_of<CartesianTopology>(*communicator, "MPI_Cart_get", code);
  if (grid == nullptr) return code;
  const auto here = grid->coordinates(communicator->rank);
  for (std::size_t d = 0; d < grid->dimensions() && static_cast<int>(d) < maxdims; ++d) {
    dims[d] = grid->dims[d];
    periods[d] = grid->periods[d] ? 1 : 0;
    coords[d] = here[d];
  }
  return MPI_SUCCESS;
}

int Cart_rank(Job& job, MPI_Comm comm, const int* coords, int* rank) {
  constexpr const char* kFunction = "MPI_Cart_rank";
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Cart_rank(comm, coords, rank);
  int code = MPI_SUCCESS;
  const auto* grid = topology_of<CartesianTopology>(*communicator, kFunction, code);
  if (grid == nullptr) return code;
  const std::int32_t found = grid->rank_at({coords, grid->dimensions()});
  if (found == kNoNeighbour)
    return raise(comm, MPI_ERR_ARG, kFunction,
                 "coordinates beyond a dimension that is not periodic");
  *rank = found;
  return MPI_SUCCESS;
}

int Cart_coords(Job& job, MPI_Comm comm, int rank, int maxdims, int* coords) {
  constexpr const char* kFunction = "MPI_Cart_coords";
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Cart_coords(comm, rank, maxdims, coords);
  int code = MPI_SUCCESS;
  const auto* grid = topology_of<CartesianTopology>(*communicator, kFunction, code);
  if (grid == nullptr) return code;
  if (!communicator->valid_rank(rank))
    return raise(comm, MPI_ERR_RANK, kFunction, fmt::format("rank {}", rank));
  const auto there = grid->coordinates(rank);
  std::copy_n(there.begin(),
              std::min<std::size_t>(there.size(), static_cast<std::size_t>(std::max(maxdims, 0))),
              coords);
  return MPI_SUCCESS;
}

int Cart_shift(Job& job, MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest) {
  constexpr const char* kFunction = "MPI_Cart_shift";
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr)
    return vendor::Cart_shift(comm, direction, disp, rank_source, rank_dest);
  int code = MPI_SUCCESS;
  const auto* grid = topology_of<CartesianTopology>(*communicator, kFunction, code);
  if (grid == nullptr) return code;
  if (direction < 0 || static_cast<std::size_t>(direction) >= grid->dimensions()) {
    return raise(comm, MPI_ERR_ARG, kFunction,
                 fmt::format("direction {} of {} dimensions", direction, grid->dimensions()));
  }
  const auto shifted = [&](std::int64_t displacement) {
    const std::int32_t found =
        grid->shifted(communicator->rank, static_cast<std::size_t>(direction), displacement);
    return found == kNoNeighbour ? MPI_PROC_NULL : found;
  };
  *rank_source = shifted(-static_cast<std::int64_t>(disp));
  *rank_dest = shifted(disp);
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace impishim::shim
