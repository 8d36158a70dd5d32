// SPDX-License-Identifier: Apache-2.0
#include "darray/index/process_grid.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/darray/errors.hpp"

namespace {

using impishim::darray::Index;
using impishim::darray::ProcessGrid;
using impishim_test::error_of;
using Ranks = std::vector<int>;

TEST(ProcessGrid, IsRowMajor) {
  const ProcessGrid grid({2, 3, 4});
  EXPECT_EQ(grid.size(), 24);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) {
        const int rank = (i * 3 + j) * 4 + k;
        EXPECT_EQ(grid.rank_of(Ranks{i, j, k}), rank);
        EXPECT_EQ(grid.coordinates_of(rank), (Ranks{i, j, k}));
      }
    }
  }
  EXPECT_EQ(grid.coordinates_of(24), std::nullopt);
  EXPECT_EQ(grid.coordinates_of(-1), std::nullopt);
}

TEST(ProcessGrid, WithoutDimensionsIsOneProcess) {
  const ProcessGrid grid;
  EXPECT_EQ(grid.size(), 1);
  EXPECT_EQ(grid.dimensions(), 0);
  EXPECT_EQ(grid.rank_of(Ranks{}), 0);
  EXPECT_EQ(grid.coordinates_of(0), Ranks{});
  EXPECT_EQ(ProcessGrid({}, {5}).members(), Ranks{5});
}

TEST(ProcessGrid, HasItsMembersInTheirOrder) {
  const ProcessGrid grid({2, 2}, {7, 0, 3, 5});
  EXPECT_EQ(grid.rank_of(Ranks{1, 0}), 3);
  EXPECT_EQ(grid.coordinates_of(5), (Ranks{1, 1}));
  EXPECT_EQ(grid.coordinates_of(1), std::nullopt);
  EXPECT_TRUE(grid.contains(7));
  EXPECT_FALSE(grid.contains(2));
  EXPECT_EQ(grid.members(), (Ranks{7, 0, 3, 5}));
}

TEST(ProcessGrid, WithAFixedCoordinateKeepsItsDimensions) {
  const ProcessGrid grid({2, 3});
  EXPECT_EQ(grid.restricted(0, 1), ProcessGrid({1, 3}, {3, 4, 5}));
  EXPECT_EQ(grid.restricted(1, 2), ProcessGrid({2, 1}, {2, 5}));
  EXPECT_EQ(grid.restricted(0, 0), ProcessGrid({1, 3}));
}

TEST(ProcessGrid, EqualsTheSameProcessesInTheSamePlaces) {
  EXPECT_EQ(ProcessGrid({2, 2}), ProcessGrid({2, 2}, {0, 1, 2, 3}));
  EXPECT_EQ(ProcessGrid({2, 2}).hash(), ProcessGrid({2, 2}, {0, 1, 2, 3}).hash());
  EXPECT_FALSE(ProcessGrid({2, 2}) == ProcessGrid({4, 1}));
  EXPECT_NE(ProcessGrid({2, 2}).hash(), ProcessGrid({4, 1}).hash());
  EXPECT_FALSE(ProcessGrid({2}) == ProcessGrid({2}, {1, 0}));
  EXPECT_NE(ProcessGrid({2}).hash(), ProcessGrid({2}, {1, 0}).hash());
}

Ranks for_shape(int processes, const std::vector<Index>& shape,
                const std::vector<bool>& distributed) {
  return ProcessGrid::for_shape(processes, shape, distributed).extents();
}

TEST(ProcessGrid, ResemblesAShape) {
  EXPECT_EQ(for_shape(6, {5, 7}, {true, true}), (Ranks{2, 3}));
  EXPECT_EQ(for_shape(6, {700, 500}, {true, true}), (Ranks{3, 2}));
  EXPECT_EQ(for_shape(4, {100, 100}, {true, true}), (Ranks{2, 2}));
  EXPECT_EQ(for_shape(4, {1000, 2}, {true, true}), (Ranks{4, 1}));
  EXPECT_EQ(for_shape(5, {10, 50}, {true, true}), (Ranks{1, 5}));
  EXPECT_EQ(for_shape(12, {20, 9, 30}, {true, false, true}), (Ranks{3, 4}));
  EXPECT_EQ(for_shape(8, {9, 9, 9}, {true, true, true}), (Ranks{2, 2, 2}));
  EXPECT_EQ(for_shape(1, {9, 9}, {true, true}), (Ranks{1, 1}));
  // As far from 2 x 2 as from 4 x 1.
  EXPECT_EQ(for_shape(4, {5, 2}, {true, true}), (Ranks{2, 2}));
  EXPECT_EQ(for_shape(4, {0, 6}, {true, true}), (Ranks{1, 4}));
}

TEST(ProcessGrid, OfOneAxisTakesAtMostItsExtent) {
  EXPECT_EQ(for_shape(4, {9, 9}, {false, true}), (Ranks{4}));
  EXPECT_EQ(for_shape(4, {3}, {true}), (Ranks{3}));
  EXPECT_EQ(for_shape(4, {0}, {true}), (Ranks{1}));
  EXPECT_EQ(for_shape(4, {9}, {false}), (Ranks{}));
}

TEST(ProcessGrid, OfBadArgumentsIsAnError) {
  EXPECT_EQ(error_of([] {
              ProcessGrid({2, 0});
            }),
            "layout: grid dimension 1: the extent 0 is below 1");
  EXPECT_EQ(error_of([] {
              ProcessGrid({70000, 70000});
            }),
            "layout: the grid has more than 2147483647 places");
  EXPECT_EQ(error_of([] { ProcessGrid({2}, {1}); }),
            "layout: a grid of 2 places is given 1 members: both numbers are equal");
  EXPECT_EQ(error_of([] {
              ProcessGrid({2}, {-1, 0});
            }),
            "layout: grid member -1: a rank is at least 0");
  EXPECT_EQ(error_of([] {
              ProcessGrid({3}, {1, 0, 1});
            }),
            "layout: rank 1 stands at the places 0 and 2 of the grid: a process has one place");
  EXPECT_EQ(error_of([] { (void)ProcessGrid({2}).extent(1); }),
            "argument: grid dimension 1 of a grid with 1 dimensions");
  EXPECT_EQ(error_of([] {
              (void)ProcessGrid({2}).rank_of(Ranks{0, 0});
            }),
            "argument: 2 coordinates for a grid with 1 dimensions");
  EXPECT_EQ(error_of([] { (void)ProcessGrid({2}).rank_of(Ranks{2}); }),
            "argument: grid dimension 0: coordinate 2 is outside of the extent 2");
  EXPECT_EQ(error_of([] { (void)ProcessGrid({2}).restricted(0, 2); }),
            "argument: grid dimension 0: coordinate 2 is outside of the extent 2");
  EXPECT_EQ(error_of([] { (void)for_shape(0, {2}, {true}); }),
            "argument: a grid of 0 processes: there is at least one");
  EXPECT_EQ(error_of([] { (void)for_shape(1, {2}, {}); }),
            "argument: 1 extents, but 0 axes are said to be distributed or not");
}

}  // namespace
