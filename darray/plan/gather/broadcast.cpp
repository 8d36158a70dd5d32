// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/gather/broadcast.hpp"

#include <algorithm>
#include <numeric>

#include "darray/plan/core/detail/owned_part.hpp"

namespace impishim::darray {
namespace {

void check(const Distribution& distribution, int dimension, int coordinate,
           const Communicator& communicator) {
  require_ranks(distribution, communicator);
  const ProcessGrid& grid = distribution.grid();
  if (coordinate < 0 || coordinate >= grid.extent(dimension)) {
    fail(ErrorKind::kArgument, "grid dimension {}: coordinate {} is outside of extent {}",
         dimension, coordinate, grid.extent(dimension));
  }
  for (std::size_t axis = 0; axis < distribution.axes().size(); ++axis) {
    if (distribution.axes()[axis].grid_dimension == dimension) {
      fail(ErrorKind::kLayout,
           "grid dimension {}: axis {} follows it, so there are no copies along it", dimension,
           axis);
    }
  }
}

TreeSchedule plan(const Communicator& communicator, const Distribution& distribution, int dimension,
                  int coordinate, const Element& element, const ScheduleOptions& options) {
  const auto call = [&] {
    CollectiveCall given("broadcast");
    given.with("array", distribution)
        .with("grid dimension", dimension)
        .with("coordinate", coordinate);
    given.with("element", element).with("chunk_bytes", options.chunk_bytes);
    return given;
  };
  agreed(communicator, options.checks, call,
         [&] { check(distribution, dimension, coordinate, communicator); });
  const ProcessGrid& grid = distribution.grid();
  std::vector<int> members;
  int root = 0;
  if (const auto place = grid.place_of(communicator.rank())) {
    const int first = *place - grid.coordinate(*place, dimension) * grid.stride(dimension);
    for (int k = 0; k < grid.extent(dimension); ++k)
      members.push_back(grid.rank_at(first + k * grid.stride(dimension)));
    root = members[static_cast<std::size_t>(coordinate)];
    std::sort(members.begin(), members.end());
  }
  const Selection owned = owned_part(distribution, communicator.rank()).patch();
  return TreeSchedule(communicator, element, root, std::move(members), owned,
                      communicator.rank() == root ? Selection() : owned, options);
}

}  // namespace

BroadcastPlan::BroadcastPlan(MPI_Comm comm, const Distribution& distribution, int dimension,
                             int coordinate, Element element, ScheduleOptions options)
    : schedule_(plan(Communicator(comm), distribution, dimension, coordinate, element, options)) {}

void broadcast(MPI_Comm comm, const Distribution& distribution, int dimension, int coordinate,
               Element element, void* data) {
  BroadcastPlan(comm, distribution, dimension, coordinate, element).execute(data);
}

void broadcast_element(MPI_Comm comm, const Distribution& distribution,
                       std::span<const Index> indices, Element element, const void* data,
                       void* value) {
  const Communicator communicator(comm);
  int root = 0;
  Selection source;
  const auto call = [&] {
    CollectiveCall given("broadcast of an element");
    return given.with("array", distribution).with("indices", indices).with("element", element);
  };
  agreed(communicator, Checks::kOn, call, [&] {
    require_ranks(distribution, communicator);
    root = distribution.owner(indices);
    if (communicator.rank() != root) return;
    const OwnedPart part = owned_part(distribution, root);
    const std::vector<Index> local = *distribution.to_local(root, indices);
    source = contiguous_patch(
        std::inner_product(local.begin(), local.end(), part.strides.begin(), part.offset), 1);
  });
  std::vector<int> everybody(static_cast<std::size_t>(communicator.size()));
  std::iota(everybody.begin(), everybody.end(), 0);
  TreeSchedule(communicator, element, root, everybody, source, contiguous_patch(0, 1),
               {.checks = Checks::kOff})
      .execute(data, value);
}

}  // namespace impishim::darray
