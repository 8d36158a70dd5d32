// SPDX-License-Identifier: Apache-2.0
/// Topologies of communicators, as arithmetic on ranks: cartesian grids, graphs and distributed
/// graphs (MPI-3.1 7). The file uses no MPI type or function: the calls are in topology_cart.cpp,
/// topology_graph.cpp and topology_dist_graph.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace impishim::shim {

/// Stands for MPI_PROC_NULL: the neighbour beyond the edge of a grid.
inline constexpr std::int32_t kNoNeighbour = -1;

/// Edge of a neighbourhood collective: one block goes to `rank`, or comes from it. An outgoing edge
/// of one process and an incoming edge of the other are the same if they have the same label. Edges
/// with equal labels are matched in their order.
///
/// In a periodic grid that is one or two wide, a process is a neighbour twice. A block sent in the
/// negative direction must arrive as the block from the positive neighbour (MPI-4.1 8.6). The label
/// therefore tells the dimension and the direction of travel.
struct NeighbourEdge {
  std::int32_t rank = kNoNeighbour;  ///< kNoNeighbour: nothing is sent or received
  std::int32_t label = 0;            ///< 0 ... 2 * dimensions - 1
};

/// A grid. Row-major: the last coordinate varies fastest.
struct CartesianTopology {
  std::vector<std::int32_t> dims;
  std::vector<bool> periods;

  [[nodiscard]] std::size_t dimensions() const { return dims.size(); }
  /// Returns the coordinates of a rank of the grid.
  [[nodiscard]] std::vector<std::int32_t> coordinates(std::int32_t rank) const;
  /// Returns the rank at `coordinates`, which wrap around in periodic dimensions; kNoNeighbour if
  /// one is beyond a dimension's edge.
  [[nodiscard]] std::int32_t rank_at(std::span<const std::int32_t> coordinates) const;
  /// Returns the rank `displacement` steps away from `rank` in a dimension, or kNoNeighbour.
  [[nodiscard]] std::int32_t shifted(std::int32_t rank, std::size_t dimension,
                                     std::int64_t displacement) const;
  /// Returns the grid of the dimensions that remain (MPI_Cart_sub).
  [[nodiscard]] CartesianTopology without(const std::vector<bool>& dropped) const;
  /// The sub-grid of `rank` when only the dimensions remain that are not dropped: its number, and
  /// the rank in it.
  struct Part {
    std::int32_t number = 0;
    std::int32_t rank = 0;
  };
  [[nodiscard]] Part part_of(std::int32_t rank, const std::vector<bool>& dropped) const;
};

/// A graph that every process knows completely: the neighbours of rank i are edges[index[i - 1]]
/// ... edges[index[i] - 1].
struct GraphTopology {
  std::vector<std::int32_t> index;
  std::vector<std::int32_t> edges;

  [[nodiscard]] std::span<const std::int32_t> neighbours(std::int32_t rank) const;
};

/// A graph of which every process knows only its own edges.
struct DistributedGraphTopology {
  std::vector<std::int32_t> sources;
  std::vector<std::int32_t> source_weights;  ///< empty if the graph is not weighted
  std::vector<std::int32_t> destinations;
  std::vector<std::int32_t> destination_weights;
  bool weighted = false;
};

/// A communicator's topology as this process, `rank`, knows it. An immutable value.
struct Topology {
  std::int32_t rank = 0;
  std::variant<CartesianTopology, GraphTopology, DistributedGraphTopology> graph;

  /// Return the edges in the order of the blocks of MPI_Neighbor_* (MPI-3.1 7.6).
  [[nodiscard]] std::vector<NeighbourEdge> sources() const;
  [[nodiscard]] std::vector<NeighbourEdge> destinations() const;
};

}  // namespace impishim::shim
