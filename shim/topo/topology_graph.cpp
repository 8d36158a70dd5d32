// SPDX-License-Identifier: Apache-2.0
// MPI_Graph_* (MPI-3.1 7.5.3). Ranks are not reordered.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
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
#include "shim/values/rank_list.hpp"
#include "shim/values/topology.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

/// Reads the graph from the user's arrays. Raises and returns MPI_ERR_ARG if the arrays do not
/// describe a graph of the parent's processes.
int read_graph(Fail report, Communicator& parent, const char* function, int nnodes,
               const int* index, const int* edges, GraphTopology& graph) {
  if (const int code = check_intra(parent, function); code != MPI_SUCCESS) return code;
  const auto fail = [&](const std::string& text) {
    return report(parent, function, MPI_ERR_ARG, text);
  };
  if (nnodes < 0 || nnodes > parent.size()) return fail(fmt::format("a graph of {} nodes", nnodes));
  for (int node = 0; node < nnodes; ++node) {
    const int before = node == 0 ? 0 : index[node - 1];
    if (index[node] < before)
      return fail(fmt::format("the index of node {} is less than that of the one before", node));
    graph.index.push_back(index[node]);
    for (int edge = before; edge < index[node]; ++edge) {
      if (edges[edge] < 0 || edges[edge] >= nnodes)
        return fail(fmt::format("an edge to {} of {} nodes", edges[edge], nnodes));
      graph.edges.push_back(edges[edge]);
    }
  }
  return MPI_SUCCESS;
}

}  // namespace

namespace calls {

int Graph_create(Job& job, MPI_Comm comm, int nnodes, const int* index, const int* edges,
                 int reorder, MPI_Comm* newcomm) {
  constexpr const char* kFunction = "MPI_Graph_create";
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr) {
    return create_native(job, comm, [&] {
      return native::Graph_create(job, comm, nnodes, index, edges, reorder, newcomm);
    });
  }
  GraphTopology graph;
  if (const int code = read_graph(fail_collective, *parent, kFunction, nnodes, index, edges, graph);
      code != MPI_SUCCESS)
    return code;
  const auto native = [&](MPI_Comm from, MPI_Comm* made) {
    return vendor::Graph_create(from, nnodes, index, edges, 0, made);
  };
  RankList members(parent->members.begin(), parent->members.begin() + nnodes);
  const int color = parent->rank < nnodes ? 0 : MPI_UNDEFINED;
  return make_topology(job, *parent, kFunction,
                       {color, parent->rank, std::move(members), std::move(graph)}, native,
                       newcomm);
}

int Graph_map(Job& job, MPI_Comm comm, int nnodes, const int* index, const int* edges,
              int* newrank) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Graph_map(comm, nnodes, index, edges, newrank);
  GraphTopology graph;
  const int code =
      read_graph(fail_alone, *communicator, "MPI_Graph_map", nnodes, index, edges, graph);
  if (code == MPI_SUCCESS)
    *newrank = communicator->rank < nnodes ? communicator->rank : MPI_UNDEFINED;
  return code;
}

int Graphdims_get(Job& job, MPI_Comm comm, int* nnodes, int* nedges) {
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Graphdims_get(comm, nnodes, nedges);
  int code = MPI_SUCCESS;
  const auto* graph = topology_of<GraphTopology>(*communicator, "MPI_Graphdims_get", code);
  if (graph == nullptr) return code;
  *nnodes = static_cast<int>(graph->index.size());
  *nedges = static_cast<int>(graph->edges.size());
  return MPI_SUCCESS;
}

int Graph_get(Job& job, MPI_Comm comm, int maxindex, int maxedges, int* index, int* edges) {
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Graph_get(comm, maxindex, maxedges, index, edges);
  int code = MPI_SUCCESS;
  const auto* graph = topology_of<GraphTopology>(*communicator, "MPI_Graph_get", code);
  if (graph == nullptr) return code;
  const auto room = [](int size) { return static_cast<std::size_t>(std::max(size, 0)); };
  std::copy_n(graph->index.begin(), std::min(graph->index.size(), room(maxindex)), index);
  std::copy_n(graph->edges.begin(), std::min(graph->edges.size(), room(maxedges)), edges);
  return MPI_SUCCESS;
}

int Graph_neighbors_count(Job& job, MPI_Comm comm, int rank, int* nneighbors) {
  constexpr const char* kFunction = "MPI_Graph_neighbors_count";
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Graph_neighbors_count(comm, rank, nneighbors);
  int code = MPI_SUCCESS;
  const auto* graph = topology_of<GraphTopology>(*communicator, kFunction, code);
  if (graph == nullptr) return code;
  if (!communicator->valid_rank(rank))
    return raise(comm, MPI_ERR_RANK, kFunction, fmt::format("rank {}", rank));
  *nneighbors = static_cast<int>(graph->neighbours(rank).size());
  return MPI_SUCCESS;
}

int Graph_neighbors(Job& job, MPI_Comm comm, int rank, int maxneighbors, int* neighbors) {
  constexpr const char* kFunction = "MPI_Graph_neighbors";
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Graph_neighbors(comm, rank, maxneighbors, neighbors);
  int code = MPI_SUCCESS;
  const auto* graph = topology_of<GraphTopology>(*communicator, kFunction, code);
  if (graph == nullptr) return code;
  if (!communicator->valid_rank(rank))
    return raise(comm, MPI_ERR_RANK, kFunction, fmt::format("rank {}", rank));
  const auto found = graph->neighbours(rank);
  std::copy_n(found.begin(),
              std::min(found.size(), static_cast<std::size_t>(std::max(maxneighbors, 0))),
              neighbors);
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace impishim::shim
