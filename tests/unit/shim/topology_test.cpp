// SPDX-License-Identifier: Apache-2.0
// Grids and graphs as arithmetic: coordinates, shifts over every kind of edge, sub-grids, and the
// edges of neighbourhoods.
#include "shim/values/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <tuple>
#include <vector>

namespace impishim::shim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Cartesian, RanksAndCoordinatesAreRowMajor) {
  const CartesianTopology grid{{2, 3, 2}, {false, false, false}};
  EXPECT_THAT(grid.coordinates(0), ElementsAre(0, 0, 0));
  EXPECT_THAT(grid.coordinates(1), ElementsAre(0, 0, 1));
  EXPECT_THAT(grid.coordinates(7), ElementsAre(1, 0, 1));
  EXPECT_THAT(grid.coordinates(11), ElementsAre(1, 2, 1));
  for (std::int32_t rank = 0; rank < 12; ++rank)
    EXPECT_EQ(grid.rank_at(grid.coordinates(rank)), rank);
}

TEST(Cartesian, CoordinatesWrapInPeriodicDimensionsOnly) {
  const CartesianTopology grid{{2, 3}, {true, false}};
  EXPECT_EQ(grid.rank_at(std::vector<std::int32_t>{-1, 0}), 3);
  EXPECT_EQ(grid.rank_at(std::vector<std::int32_t>{5, 2}), 5);
  EXPECT_EQ(grid.rank_at(std::vector<std::int32_t>{0, 3}), kNoNeighbour);
  EXPECT_EQ(grid.rank_at(std::vector<std::int32_t>{0, -1}), kNoNeighbour);
}

TEST(Cartesian, Shifts) {
  const CartesianTopology grid{{2, 3}, {true, false}};
  EXPECT_EQ(grid.shifted(1, 0, 1), 4);
  EXPECT_EQ(grid.shifted(1, 0, -1), 4);
  EXPECT_EQ(grid.shifted(1, 0, 2), 1);
  EXPECT_EQ(grid.shifted(1, 0, std::numeric_limits<std::int32_t>::min()), 1);
  EXPECT_EQ(grid.shifted(4, 0, std::numeric_limits<std::int32_t>::max()), 1);
  EXPECT_EQ(grid.shifted(1, 1, 1), 2);
  EXPECT_EQ(grid.shifted(2, 1, 1), kNoNeighbour);
  EXPECT_EQ(grid.shifted(2, 1, std::numeric_limits<std::int32_t>::max()), kNoNeighbour);
  EXPECT_EQ(grid.shifted(2, 1, -3), kNoNeighbour);
  EXPECT_EQ(grid.shifted(2, 1, -2), 0);
}

TEST(Cartesian, NoDimensionsAreOneProcess) {
  const CartesianTopology grid;
  EXPECT_THAT(grid.coordinates(0), IsEmpty());
  EXPECT_EQ(grid.rank_at({}), 0);
  EXPECT_THAT((Topology{0, grid}.sources()), IsEmpty());
}

TEST(Cartesian, SubGrids) {
  const CartesianTopology grid{{2, 3, 4}, {true, false, true}};
  const std::vector<bool> dropped{false, true, false};
  const CartesianTopology rest = grid.without(dropped);
  EXPECT_THAT(rest.dims, ElementsAre(2, 4));
  EXPECT_THAT(rest.periods, ElementsAre(true, true));
  for (std::int32_t rank = 0; rank < 24; ++rank) {
    const auto at = grid.coordinates(rank);
    const auto part = grid.part_of(rank, dropped);
    EXPECT_EQ(part.number, at[1]);
    EXPECT_THAT(rest.coordinates(part.rank), ElementsAre(at[0], at[2]));
  }
  const auto alone = grid.part_of(17, {true, true, true});
  EXPECT_EQ(alone.number, 17);
  EXPECT_EQ(alone.rank, 0);
}

/// Whoever sends along an edge is expected by the other end under the same label, as often.
void expect_edges_meet(const std::vector<Topology>& everybody) {
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, int> edges;  // from, to, label
  for (const Topology& each : everybody) {
    for (const auto& edge : each.destinations()) {
      if (edge.rank != kNoNeighbour) ++edges[{each.rank, edge.rank, edge.label}];
    }
  }
  for (const Topology& each : everybody) {
    for (const auto& edge : each.sources()) {
      if (edge.rank != kNoNeighbour) --edges[{edge.rank, each.rank, edge.label}];
    }
  }
  for (const auto& [edge, left] : edges) EXPECT_EQ(left, 0);
}

std::vector<Topology> all_of(const CartesianTopology& grid, std::int32_t size) {
  std::vector<Topology> everybody;
  for (std::int32_t rank = 0; rank < size; ++rank) everybody.push_back({rank, grid});
  return everybody;
}

TEST(Neighbourhood, EveryEdgeOfEveryGridHasTwoEnds) {
  for (const std::int32_t rows : {1, 2, 3}) {
    for (const std::int32_t columns : {1, 2, 4}) {
      for (const int periodic : {0, 1, 2, 3}) {
        expect_edges_meet(
            all_of({{rows, columns}, {(periodic & 1) != 0, (periodic & 2) != 0}}, rows * columns));
      }
    }
  }
}

TEST(Neighbourhood, NegativeNeighboursComeFirst) {
  const Topology middle{4, CartesianTopology{{3, 3}, {false, false}}};
  std::vector<std::int32_t> sources;
  for (const auto& edge : middle.sources()) sources.push_back(edge.rank);
  EXPECT_THAT(sources, ElementsAre(1, 7, 3, 5));
  const Topology corner{0, CartesianTopology{{3, 3}, {false, false}}};
  std::vector<std::int32_t> destinations;
  for (const auto& edge : corner.destinations()) destinations.push_back(edge.rank);
  EXPECT_THAT(destinations, ElementsAre(kNoNeighbour, 3, kNoNeighbour, 1));
}

TEST(Neighbourhood, WhatGoesToTheNegativeNeighbourComesFromThePositiveOne) {
  // Two processes in a ring: both neighbours are the same process, only the label tells the two
  // blocks apart.
  for (const std::int32_t length : {1, 2}) {
    const CartesianTopology ring{{length}, {true}};
    const Topology first{0, ring};
    const Topology last{length - 1, ring};
    EXPECT_EQ(first.destinations()[0].rank, length - 1);
    EXPECT_EQ(first.destinations()[0].label, last.sources()[1].label);
    EXPECT_EQ(first.destinations()[1].label, last.sources()[0].label);
    EXPECT_NE(first.destinations()[0].label, first.destinations()[1].label);
  }
}

TEST(Neighbourhood, Graphs) {
  const GraphTopology graph{{2, 3, 4, 6}, {1, 3, 0, 3, 0, 2}};  // the example of MPI-3.1 7.5.3
  EXPECT_THAT(graph.neighbours(0), ElementsAre(1, 3));
  EXPECT_THAT(graph.neighbours(1), ElementsAre(0));
  EXPECT_THAT(graph.neighbours(3), ElementsAre(0, 2));
  std::vector<Topology> everybody;
  for (std::int32_t rank = 0; rank < 4; ++rank) everybody.push_back({rank, graph});
  expect_edges_meet(everybody);
}

TEST(Neighbourhood, DistributedGraphsKeepTheirOrder) {
  DistributedGraphTopology graph;
  graph.sources = {3, 3, 1};
  graph.destinations = {2};
  const Topology topology{0, graph};
  ASSERT_EQ(topology.sources().size(), 3U);
  EXPECT_EQ(topology.sources()[0].rank, 3);
  EXPECT_EQ(topology.sources()[2].rank, 1);
  ASSERT_EQ(topology.destinations().size(), 1U);
  EXPECT_EQ(topology.destinations()[0].rank, 2);
}

}  // namespace
}  // namespace impishim::shim
