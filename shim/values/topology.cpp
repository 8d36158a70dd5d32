// SPDX-License-Identifier: Apache-2.0
#include "shim/values/topology.hpp"
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace impishim::shim {

std::vector<std::int32_t> CartesianTopology::coordinates(std::int32_t rank) const {
  std::vector<std::int32_t> coordinates(dims.size());
  for (std::size_t d = dims.size(); d-- > 0;) {
    coordinates[d] = rank % dims[d];
    rank /= dims[d];
  }
  return coordinates;
}

std::int32_t CartesianTopology::rank_at(std::span<const std::int32_t> coordinates) const {
  std::int32_t rank = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    std::int32_t place = coordinates[d];
    if (periods[d]) {
      place %= dims[d];
      if (place < 0) place += dims[d];
    } else if (place < 0 || place >= dims[d]) {
      return kNoNeighbour;
    }
    rank = rank * dims[d] + place;
  }
  return rank;
}

std::int32_t CartesianTopology::shifted(std::int32_t rank, std::size_t dimension,
                                        std::int64_t displacement) const {
  auto there = coordinates(rank);
  // The sum may exceed the range of an int, whatever the grid is.
  std::int64_t place = there[dimension] + displacement;
  if (periods[dimension]) {
    place %= dims[dimension];
    if (place < 0) place += dims[dimension];
  } else if (place < 0 || place >= dims[dimension]) {
    return kNoNeighbour;
  }
  there[dimension] = static_cast<std::int32_t>(place);
  return rank_at(there);
}

CartesianTopology CartesianTopology::without(const std::vector<bool>& dropped) const {
  CartesianTopology rest;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dropped[d]) continue;
    rest.dims.push_back(dims[d]);
    rest.periods.push_back(periods[d]);
  }
  return rest;
}

CartesianTopology::Part CartesianTopology::part_of(std::int32_t rank,
                                                   const std::vector<bool>& dropped) const {
  const auto here = coordinates(rank);
  Part part;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    std::int32_t& number = dropped[d] ? part.number : part.rank;
    number = number * dims[d] + here[d];
  }
  return part;
}

std::span<const std::int32_t> GraphTopology::neighbours(std::int32_t rank) const {
  const auto place = static_cast<std::size_t>(rank);
  const auto begin = static_cast<std::size_t>(place == 0 ? 0 : index[place - 1]);
  return std::span(edges).subspan(begin, static_cast<std::size_t>(index[place]) - begin);
}

namespace {

std::vector<NeighbourEdge> without_labels(std::span<const std::int32_t> ranks) {
  std::vector<NeighbourEdge> edges;
  edges.reserve(ranks.size());
  for (const std::int32_t rank : ranks) edges.push_back({rank, 0});
  return edges;
}

/// Returns both neighbours of each dimension, the negative one first. A label is 2 * dimension,
/// plus 1 if the data travels in the positive direction, as data from the negative neighbour does.
std::vector<NeighbourEdge> grid_edges(const CartesianTopology& grid, std::int32_t rank,
                                      bool incoming) {
  std::vector<NeighbourEdge> edges;
  edges.reserve(2 * grid.dimensions());
  for (std::size_t d = 0; d < grid.dimensions(); ++d) {
    const auto label = static_cast<std::int32_t>(2 * d);
    edges.push_back({grid.shifted(rank, d, -1), incoming ? label + 1 : label});
    edges.push_back({grid.shifted(rank, d, 1), incoming ? label : label + 1});
  }
  return edges;
}

}  // namespace

std::vector<NeighbourEdge> Topology::sources() const {
  if (const auto* grid = std::get_if<CartesianTopology>(&graph))
    return grid_edges(*grid, rank, true);
  if (const auto* whole = std::get_if<GraphTopology>(&graph))
    return without_labels(whole->neighbours(rank));
  return without_labels(std::get<DistributedGraphTopology>(graph).sources);
}

std::vector<NeighbourEdge> Topology::destinations() const {
  if (const auto* grid = std::get_if<CartesianTopology>(&graph))
    return grid_edges(*grid, rank, false);
  if (const auto* whole = std::get_if<GraphTopology>(&graph))
    return without_labels(whole->neighbours(rank));
  return without_labels(std::get<DistributedGraphTopology>(graph).destinations);
}

}  // namespace impishim::shim
