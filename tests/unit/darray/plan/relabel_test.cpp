// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/remap/relabel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "darray/index/make_distribution.hpp"
#include "tests/unit/darray/plan/simulation.hpp"
#include "tests/unit/darray/random_layout.hpp"

namespace impishim_test {
namespace {

using namespace impishim::darray;  // NOLINT: the library under test

TEST(Relabel, SavesAThirdOfT10) {
  const std::array<Index, 2> shape{4, 4};
  const auto from = make_distribution(shape, 8, {.kinds = "bb", .grid = {2, 4}});
  const auto to = make_distribution(shape, 8, {.kinds = "bb", .grid = {4, 2}});
  for (const int exact_up_to : {256, 0}) {
    const Relabelling found = relabel(one_system(8), {*to}, {*from}, {.exact_up_to = exact_up_to});
    EXPECT_EQ(found.elements, 16);
    EXPECT_EQ(found.moved_before, 12);
    EXPECT_EQ(found.moved_after, 8);
    // The plans say the same.
    const auto plans = [&](const Distribution& layout) {
      return Simulation(
          8, [&](int rank) { return plan_remap(rank, one_system(8), {layout}, {*from}); });
    };
    EXPECT_EQ(plans(*to).moved(), 12);
    EXPECT_EQ(plans(*found.layout).moved(), 8);
  }
}

TEST(Relabel, OfAPermutedLayoutMovesNothing) {
  const std::array<Index, 2> shape{6, 10};
  const auto from =
      make_distribution(shape, 6, {.kinds = "bc", .grid = {2, 3}, .block_sizes = {{1, 2}}});
  const auto to = make_distribution(
      shape, 6,
      {.kinds = "bc", .grid = {2, 3}, .block_sizes = {{1, 2}}, .members = {3, 5, 0, 4, 1, 2}});
  for (const int exact_up_to : {256, 0}) {
    const Relabelling found = relabel(one_system(6), {*to}, {*from}, {.exact_up_to = exact_up_to});
    EXPECT_EQ(found.moved_after, 0);
    EXPECT_GT(found.moved_before, 0);
    EXPECT_EQ(found.members, from->grid().members());
  }
}

TEST(Relabel, KeepsDataInItsSystem) {
  // Two processes hold halves; the new layout's halves are needed by one process of each system.
  const auto from = Distribution::make(ProcessGrid({2}, {0, 2}), {{DimMap::block(8, 2), 0}});
  const auto to = Distribution::make(ProcessGrid({2}, {3, 1}), {{DimMap::block(8, 2), 0}});
  const Systems systems = systems_of({2, 2});
  const Relabelling indifferent = relabel(systems, {*to}, {*from});
  EXPECT_EQ(indifferent.moved_after, 8);
  const Relabelling found = relabel(systems, {*to}, {*from}, {.crossing_weight = 10});
  EXPECT_EQ(found.members, (std::vector<int>{1, 3}));
  const Simulation plans(
      4, [&](int rank) { return plan_remap(rank, systems, {*found.layout}, {*from}); });
  EXPECT_EQ(plans.crossing(systems), 0);
}

// Of a label with several owners the remap takes one element alone: so many count.
TEST(Relabel, CountsSharedLabelsOnce) {
  const DimMap labels = DimMap::unstructured({{0, 1, 2, 3}, {2, 3, 4, 5}, {3, 4, 5, 6, 7}}, false);
  const auto from = Distribution::make(ProcessGrid({3}), {{labels, 0}});
  const auto to = make_distribution(std::array<Index, 1>{8}, 3);
  const Relabelling found = relabel(one_system(3), {*to}, {*from});
  const auto moved = [&](const Distribution& layout) {
    return Simulation(3,
                      [&](int rank) { return plan_remap(rank, one_system(3), {layout}, {*from}); })
        .moved();
  };
  EXPECT_EQ(found.elements, 8);
  EXPECT_EQ(found.moved_before, moved(*to));
  EXPECT_EQ(found.moved_after, moved(*found.layout));
}

TEST(Relabel, IsNeverWorse) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Chance chance(seed);
    const std::vector<Index> shape{chance.number(0, 9), chance.number(0, 9)};
    const auto from = random_layout(chance, shape, 8);
    const auto to = random_layout(chance, shape, 8);
    Index exact = -1;
    for (const int exact_up_to : {256, 0}) {
      const Relabelling found =
          relabel(one_system(8), {*to}, {*from}, {.exact_up_to = exact_up_to});
      EXPECT_LE(found.moved_after, found.moved_before) << "seed " << seed;
      if (exact_up_to > 0) exact = found.moved_after;
      EXPECT_LE(exact, found.moved_after) << "seed " << seed;
      std::vector<int> members = found.members;
      std::vector<int> before = to->grid().members();
      std::ranges::sort(members);
      std::ranges::sort(before);
      EXPECT_EQ(members, before);
    }
  }
}

TEST(Assignment, IsTheCheapestOfAll) {
  Chance chance(1);
  for (int round = 0; round < 400; ++round) {
    const int size = chance.small(0, 6);
    std::vector<double> costs;
    for (int k = 0; k < size * size; ++k)
      costs.push_back(static_cast<double>(chance.number(-3, 12)));
    const auto cost_of = [&](const std::vector<int>& columns) {
      double cost = 0;
      for (int row = 0; row < size; ++row)
        cost +=
            costs[static_cast<std::size_t>(row * size + columns[static_cast<std::size_t>(row)])];
      return cost;
    };
    std::vector<int> order(static_cast<std::size_t>(size));
    std::iota(order.begin(), order.end(), 0);
    double best = cost_of(order);
    while (std::ranges::next_permutation(order).found) best = std::min(best, cost_of(order));
    EXPECT_EQ(cost_of(cheapest_assignment(costs, size)), best);
  }
}

}  // namespace
}  // namespace impishim_test
