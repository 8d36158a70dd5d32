// SPDX-License-Identifier: Apache-2.0
// Graph topologies: those that all processes know as a whole, and distributed ones, given by each
// process's own edges or by anybody's; weights, several edges between two processes, loops,
// processes without edges.
#include <algorithm>
#include <cstdio>
#include <utility>
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

/// A star: the first process is everybody's neighbour, and has a loop.
void star(int nodes, Numbers& index, Numbers& edges) {
  index.clear();
  edges.clear();
  for (int node = 0; node < nodes; ++node) edges.push_back(node);
  index.push_back(nodes);
  for (int node = 1; node < nodes; ++node) {
    edges.push_back(0);
    index.push_back(nodes + node);
  }
}

void check_graph(MPI_Comm graph, const Numbers& index, const Numbers& edges) {
  REQUIRE_EQUAL(topology_of(graph), MPI_GRAPH);
  int nodes = -1;
  int edge_count = -1;
  REQUIRE_EQUAL(MPI_Graphdims_get(graph, &nodes, &edge_count), MPI_SUCCESS);
  REQUIRE_EQUAL(nodes, index.size());
  REQUIRE_EQUAL(edge_count, edges.size());
  Numbers got_index(index.size(), -9);
  Numbers got_edges(edges.size(), -9);
  MPI_Graph_get(graph, nodes, edge_count, got_index.data(), got_edges.data());
  REQUIRE(got_index == index);
  REQUIRE(got_edges == edges);
  for (int node = 0; node < nodes; ++node) {
    const int begin = node == 0 ? 0 : index[static_cast<std::size_t>(node) - 1];
    const Numbers expected(edges.begin() + begin,
                           edges.begin() + index[static_cast<std::size_t>(node)]);
    int degree = -1;
    REQUIRE_EQUAL(MPI_Graph_neighbors_count(graph, node, &degree), MPI_SUCCESS);
    REQUIRE_EQUAL(degree, expected.size());
    Numbers got(expected.size(), -9);
    MPI_Graph_neighbors(graph, node, degree, got.data());
    REQUIRE(got == expected);
  }
}

void check_graphs(MPI_Comm parent) {
  for (int nodes = 1; nodes <= size_of(parent); ++nodes) {
    Numbers index;
    Numbers edges;
    star(nodes, index, edges);
    MPI_Comm graph = MPI_COMM_WORLD;
    REQUIRE_EQUAL(MPI_Graph_create(parent, nodes, index.data(), edges.data(), 0, &graph),
                  MPI_SUCCESS);
    int mapped = -9;
    MPI_Graph_map(parent, nodes, index.data(), edges.data(), &mapped);
    // Open MPI 4.1.4 by itself gives all processes a place.
    if (impishim_test::in_joined_job())
      REQUIRE(mapped == MPI_UNDEFINED || (mapped >= 0 && mapped < nodes));
    if (!impishim_test::check_place(graph, parent, nodes)) continue;
    check_graph(graph, index, edges);
    MPI_Comm twin = MPI_COMM_NULL;
    MPI_Comm_dup(graph, &twin);
    check_graph(twin, index, edges);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&graph);
  }
}

/// An edge's other end and its weight.
using Ends = std::vector<std::pair<int, int>>;

Ends pairs(const Numbers& ranks, const Numbers& weights) {
  Ends ends;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    ends.emplace_back(ranks[i], weights.empty() ? 0 : weights[i]);
  return ends;
}

void check_distributed(MPI_Comm graph, Ends sources, Ends destinations, bool weighted,
                       bool ordered) {
  REQUIRE_EQUAL(topology_of(graph), MPI_DIST_GRAPH);
  int indegree = -1;
  int outdegree = -1;
  int has_weights = -1;
  REQUIRE_EQUAL(MPI_Dist_graph_neighbors_count(graph, &indegree, &outdegree, &has_weights),
                MPI_SUCCESS);
  REQUIRE_EQUAL(indegree, sources.size());
  REQUIRE_EQUAL(outdegree, destinations.size());
  REQUIRE_EQUAL(has_weights != 0, weighted);
  Numbers from(static_cast<std::size_t>(indegree));
  Numbers to(static_cast<std::size_t>(outdegree));
  Numbers from_weights(weighted ? from.size() : 0);
  Numbers to_weights(weighted ? to.size() : 0);
  MPI_Dist_graph_neighbors(graph, indegree, from.data(),
                           weighted ? from_weights.data() : MPI_UNWEIGHTED, outdegree, to.data(),
                           weighted ? to_weights.data() : MPI_UNWEIGHTED);
  Ends got_sources = pairs(from, from_weights);
  Ends got_destinations = pairs(to, to_weights);
  if (!ordered) {
    for (Ends* each : {&sources, &destinations, &got_sources, &got_destinations})
      std::sort(each->begin(), each->end());
  }
  REQUIRE(got_sources == sources);
  REQUIRE(got_destinations == destinations);
}

/// Everybody names its own edges: two to the next process, one to itself, and the last has none at
/// all.
void check_adjacent(MPI_Comm parent, bool weighted) {
  const int size = size_of(parent);
  const int rank = rank_in(parent);
  const int part = size - 1;  // the last one stays alone
  Numbers sources;
  Numbers destinations;
  if (rank < part) {
    const int before = (rank + part - 1) % part;
    const int next = (rank + 1) % part;
    sources = {before, rank, before};
    destinations = {next, next, rank};
  }
  Numbers source_weights;
  Numbers destination_weights;
  for (const int source : sources) source_weights.push_back(10 * source + rank);
  for (const int destination : destinations) destination_weights.push_back(10 * rank + destination);
  const auto given = [&](Numbers& weights) {
    return !weighted ? MPI_UNWEIGHTED : weights.empty() ? MPI_WEIGHTS_EMPTY : weights.data();
  };
  MPI_Comm graph = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Dist_graph_create_adjacent(
                    parent, static_cast<int>(sources.size()), sources.data(), given(source_weights),
                    static_cast<int>(destinations.size()), destinations.data(),
                    given(destination_weights), MPI_INFO_NULL, 0, &graph),
                MPI_SUCCESS);
  check_members(graph, members_of(parent));
  const Ends in = pairs(sources, weighted ? source_weights : Numbers());
  const Ends out = pairs(destinations, weighted ? destination_weights : Numbers());
  check_distributed(graph, in, out, weighted, true);
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm_dup(graph, &twin);
  MPI_Comm_free(&graph);
  check_distributed(twin, in, out, weighted, true);
  MPI_Comm_free(&twin);
}

/// Process `namer` names the edges; every process has edges to all later ones, and the first two
/// edges between each other.
void check_named_by(MPI_Comm parent, int namer, bool weighted) {
  const int size = size_of(parent);
  const int rank = rank_in(parent);
  Ends in;
  Ends out;
  Numbers sources;
  Numbers degrees;
  Numbers destinations;
  Numbers weights;
  for (int from = 0; from < size; ++from) {
    if (namer < 0 ? from == rank : namer == rank) {
      sources.push_back(from);
      degrees.push_back(size - from);
    }
    for (int to = from; to < size; ++to) {
      const int weight = weighted ? 100 * from + to : 0;
      if (from == rank) out.emplace_back(to, weight);
      if (to == rank) in.emplace_back(from, weight);
      if (namer < 0 ? from != rank : namer != rank) continue;
      destinations.push_back(to);
      weights.push_back(weight);
    }
  }
  MPI_Comm graph = MPI_COMM_NULL;
  const int* given = !weighted         ? MPI_UNWEIGHTED
                     : weights.empty() ? MPI_WEIGHTS_EMPTY
                                       : weights.data();
  REQUIRE_EQUAL(
      MPI_Dist_graph_create(parent, static_cast<int>(sources.size()), sources.data(),
                            degrees.data(), destinations.data(), given, MPI_INFO_NULL, 0, &graph),
      MPI_SUCCESS);
  check_distributed(graph, in, out, weighted, false);
  MPI_Comm_free(&graph);
}

void check_errors() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int size = size_of(comm);
  MPI_Comm graph = MPI_COMM_NULL;
  const Numbers index{1, 2};
  const Numbers edges{1, size + 1};
  REQUIRE(MPI_Graph_create(comm, 2, index.data(), edges.data(), 0, &graph) != MPI_SUCCESS);
  REQUIRE(MPI_Dist_graph_create_adjacent(comm, 1, &size, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &graph) != MPI_SUCCESS);
  int number = 0;
  int other = 0;
  int third = 0;
  int error_class = MPI_SUCCESS;
  MPI_Error_class(MPI_Dist_graph_neighbors_count(comm, &number, &other, &third), &error_class);
  REQUIRE_EQUAL(error_class, MPI_ERR_TOPOLOGY);
  MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  MPI_Comm dealt = impishim_test::world_dealt();
  for (MPI_Comm parent : {MPI_COMM_WORLD, dealt}) {
    check_graphs(parent);
    for (const bool weighted : {false, true}) {
      check_adjacent(parent, weighted);
      for (int namer = -1; namer < size; ++namer) check_named_by(parent, namer, weighted);
    }
  }
  MPI_Comm_free(&dealt);
  if (impishim_test::in_joined_job()) check_errors();
  if (rank == 0) std::printf("graphs of %d ranks: right\n", size);
  MPI_Finalize();
  return 0;
}
