// SPDX-License-Identifier: Apache-2.0
// MPI_Dist_graph_* (MPI-3.1 7.5.4). Ranks are not reordered; hints are ignored.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "shim/coll/collective.hpp"
#include "shim/coll/collective_arguments.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/comm/blocking_creation.hpp"
#include "shim/entry_points.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/native.hpp"
#include "shim/topo/topology_make.hpp"
#include "shim/values/topology.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

constexpr const char* kCreate = "MPI_Dist_graph_create";
constexpr const char* kCreateAdjacent = "MPI_Dist_graph_create_adjacent";

int check_ranks(Communicator& parent, const char* function, std::span<const int> ranks) {
  for (const int rank : ranks) {
    if (!parent.valid_rank(rank))
      return fail_collective(parent, function, MPI_ERR_RANK,
                             fmt::format("an edge to rank {}", rank));
  }
  return MPI_SUCCESS;
}

int make(Job& job, Communicator& parent, const char* function, DistributedGraphTopology graph,
         MPI_Comm* newcomm) {
  // All processes of a spanning communicator are members, so the graph communicator spans systems,
  // too.
  const auto never = [](MPI_Comm, MPI_Comm*) { return MPI_ERR_INTERN; };
  return make_topology(job, parent, function, {0, parent.rank, parent.members, std::move(graph)},
                       never, newcomm);
}

/// The notice that a process receives about an edge of which it is an end.
struct EdgeNotice {
  int outgoing;  ///< true if the receiver is the edge's source
  int peer;
  int weight;
};
constexpr int kNoticeInts = 3;

/// Sends each process its notices. Returns the notices for this process, ordered by sender, and for
/// each sender in the order of sending.
int deliver(Job& job, Communicator& parent, const std::vector<std::vector<EdgeNotice>>& to,
            std::vector<EdgeNotice>& received) {
  const auto size = static_cast<std::size_t>(parent.size());
  std::vector<int> send_counts;
  std::vector<int> receive_counts(size);
  std::vector<EdgeNotice> sent;
  for (const auto& notices : to) {
    send_counts.push_back(static_cast<int>(notices.size()) * kNoticeInts);
    sent.insert(sent.end(), notices.begin(), notices.end());
  }
  int code = run_collective(job, parent, kCreate, [&](Collective& call) {
    return collective_arguments::Alltoall(call, send_counts.data(), 1, MPI_INT,
                                          receive_counts.data(), 1, MPI_INT);
  });
  if (code != MPI_SUCCESS) return code;
  const auto places = [](const std::vector<int>& counts) {
    std::vector<int> begins(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
    return begins;
  };
  const auto send_places = places(send_counts);
  const auto receive_places = places(receive_counts);
  const int total = receive_places.back() + receive_counts.back();
  // The buffers must be neither null nor equal, even if they are empty.
  received.resize(static_cast<std::size_t>(total / kNoticeInts) + 1);
  sent.emplace_back();
  code = run_collective(job, parent, kCreate, [&](Collective& call) {
    return collective_arguments::Alltoallv(call, sent.data(), send_counts.data(),
                                           send_places.data(), MPI_INT, received.data(),
                                           receive_counts.data(), receive_places.data(), MPI_INT);
  });
  received.pop_back();
  return code;
}

/// Converts the user's edges into notices for both of their ends.
int read_edges(Communicator& parent, int n, const int* sources, const int* degrees,
               const int* destinations, const int* weights,
               std::vector<std::vector<EdgeNotice>>& notices) {
  if (n < 0) return fail_collective(parent, kCreate, MPI_ERR_ARG, fmt::format("{} sources", n));
  notices.resize(static_cast<std::size_t>(parent.size()));
  const bool weighted = weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
  std::size_t edge = 0;
  for (int i = 0; i < n; ++i) {
    if (degrees[i] < 0)
      return fail_collective(parent, kCreate, MPI_ERR_ARG,
                             fmt::format("a degree of {}", degrees[i]));
    const std::span<const int> ends(destinations + edge, static_cast<std::size_t>(degrees[i]));
    int code = check_ranks(parent, kCreate, {&sources[i], 1});
    if (code == MPI_SUCCESS) code = check_ranks(parent, kCreate, ends);
    if (code != MPI_SUCCESS) return code;
    for (const int end : ends) {
      const int weight = weighted ? weights[edge] : 1;
      ++edge;
      if (weight < 0)
        return fail_collective(parent, kCreate, MPI_ERR_ARG, fmt::format("a weight of {}", weight));
      notices[static_cast<std::size_t>(sources[i])].push_back({1, end, weight});
      notices[static_cast<std::size_t>(end)].push_back({0, sources[i], weight});
    }
  }
  return MPI_SUCCESS;
}

/// Reads one side of a process's edges in the form that the user passes.
int read_side(Communicator& parent, int degree, const int* ranks, const int* weights, bool weighted,
              std::vector<std::int32_t>& peers, std::vector<std::int32_t>& kept_weights) {
  if (degree < 0)
    return fail_collective(parent, kCreateAdjacent, MPI_ERR_ARG,
                           fmt::format("a degree of {}", degree));
  const auto count = static_cast<std::size_t>(degree);
  if (const int code = check_ranks(parent, kCreateAdjacent, {ranks, count}); code != MPI_SUCCESS)
    return code;
  peers.assign(ranks, ranks + count);
  if (weighted && count > 0) kept_weights.assign(weights, weights + count);
  const auto negative =
      std::ranges::find_if(kept_weights, [](std::int32_t weight) { return weight < 0; });
  if (negative == kept_weights.end()) return MPI_SUCCESS;
  return fail_collective(parent, kCreateAdjacent, MPI_ERR_ARG,
                         fmt::format("a weight of {}", *negative));
}

void copy_side(int room, const std::vector<std::int32_t>& peers,
               const std::vector<std::int32_t>& weights, int* to_peers, int* to_weights) {
  const auto count = std::min(peers.size(), static_cast<std::size_t>(std::max(room, 0)));
  std::copy_n(peers.begin(), count, to_peers);
  if (to_weights != MPI_UNWEIGHTED && !weights.empty())
    std::copy_n(weights.begin(), count, to_weights);
}

}  // namespace

namespace calls {

int Dist_graph_create(Job& job, MPI_Comm comm, int n, const int* sources, const int* degrees,
                      const int* destinations, const int* weights, MPI_Info info, int reorder,
                      MPI_Comm* newcomm) {
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr) {
    return create_native(job, comm, [&] {
      return native::Dist_graph_create(job, comm, n, sources, degrees, destinations, weights, info,
                                       reorder, newcomm);
    });
  }
  int code = check_intra(*parent, kCreate);
  std::vector<std::vector<EdgeNotice>> notices;
  if (code == MPI_SUCCESS)
    code = read_edges(*parent, n, sources, degrees, destinations, weights, notices);
  std::vector<EdgeNotice> mine;
  if (code == MPI_SUCCESS) code = deliver(job, *parent, notices, mine);
  if (code != MPI_SUCCESS) return code;
  DistributedGraphTopology graph;
  graph.weighted = weights != MPI_UNWEIGHTED;
  for (const EdgeNotice& edge : mine) {
    (edge.outgoing != 0 ? graph.destinations : graph.sources).push_back(edge.peer);
    if (graph.weighted)
      (edge.outgoing != 0 ? graph.destination_weights : graph.source_weights)
          .push_back(edge.weight);
  }
  return make(job, *parent, kCreate, std::move(graph), newcomm);
}

int Dist_graph_create_adjacent(Job& job, MPI_Comm comm, int indegree, const int* sources,
                               const int* sourceweights, int outdegree, const int* destinations,
                               const int* destweights, MPI_Info info, int reorder,
                               MPI_Comm* newcomm) {
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr) {
    return create_native(job, comm, [&] {
      return native::Dist_graph_create_adjacent(job, comm, indegree, sources, sourceweights,
                                                outdegree, destinations, destweights, info, reorder,
                                                newcomm);
    });
  }
  int code = check_intra(*parent, kCreateAdjacent);
  DistributedGraphTopology graph;
  graph.weighted = sourceweights != MPI_UNWEIGHTED;
  if (code == MPI_SUCCESS && graph.weighted != (destweights != MPI_UNWEIGHTED)) {
    code = fail_collective(*parent, kCreateAdjacent, MPI_ERR_ARG,
                           "one side of the edges has weights, the other has not");
  }
  if (code == MPI_SUCCESS) {
    code = read_side(*parent, indegree, sources, sourceweights, graph.weighted, graph.sources,
                     graph.source_weights);
  }
  if (code == MPI_SUCCESS) {
    code = read_side(*parent, outdegree, destinations, destweights, graph.weighted,
                     graph.destinations, graph.destination_weights);
  }
  return code == MPI_SUCCESS ? make(job, *parent, kCreateAdjacent, std::move(graph), newcomm)
                             : code;
}

int Dist_graph_neighbors_count(Job& job, MPI_Comm comm, int* indegree, int* outdegree,
                               int* weighted) {
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr)
    return vendor::Dist_graph_neighbors_count(comm, indegree, outdegree, weighted);
  int code = MPI_SUCCESS;
  const auto* graph =
      topology_of<DistributedGraphTopology>(*communicator, "MPI_Dist_graph_neighbors_count", code);
  if (graph == nullptr) return code;
  *indegree = static_cast<int>(graph->sources.size());
  *outdegree = static_cast<int>(graph->destinations.size());
  *weighted = graph->weighted ? 1 : 0;
  return MPI_SUCCESS;
}

int Dist_graph_neighbors(Job& job, MPI_Comm comm, int maxindegree, int* sources, int* sourceweights,
                         int maxoutdegree, int* destinations, int* destweights) {
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) {
    return vendor::Dist_graph_neighbors(comm, maxindegree, sources, sourceweights, maxoutdegree,
                                        destinations, destweights);
  }
  int code = MPI_SUCCESS;
  const auto* graph =
      topology_of<DistributedGraphTopology>(*communicator, "MPI_Dist_graph_neighbors", code);
  if (graph == nullptr) return code;
  copy_side(maxindegree, graph->sources, graph->source_weights, sources, sourceweights);
  copy_side(maxoutdegree, graph->destinations, graph->destination_weights, destinations,
            destweights);
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace impishim::shim
