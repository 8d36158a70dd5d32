// SPDX-License-Identifier: Apache-2.0
#include "collectives/core/pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace impishim::collectives {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PatternTest, CubedimIsTheSmallestCubeThatHoldsAll) {
  EXPECT_EQ(cubedim(1), 0);
  EXPECT_EQ(cubedim(2), 1);
  EXPECT_EQ(cubedim(3), 2);
  EXPECT_EQ(cubedim(4), 2);
  EXPECT_EQ(cubedim(5), 3);
  EXPECT_EQ(cubedim(16), 4);
  EXPECT_EQ(cubedim(17), 5);
}

TEST(PatternTest, HibitIsTheHighestSetBitBelowTheDimension) {
  EXPECT_EQ(hibit(0, 3), -1);
  EXPECT_EQ(hibit(1, 3), 0);
  EXPECT_EQ(hibit(5, 3), 2);
  EXPECT_EQ(hibit(5, 2), 0);
  EXPECT_EQ(hibit(8, 3), -1);
  EXPECT_EQ(hibit(16, 5), 4);
}

TEST(PatternTest, VirtualNumbersCountFromTheRoot) {
  EXPECT_EQ(to_virtual(3, 3, 5), 0);
  EXPECT_EQ(to_virtual(2, 3, 5), 4);
  for (std::int32_t count = 1; count <= 17; ++count) {
    for (std::int32_t root = 0; root < count; ++root) {
      for (std::int32_t number = 0; number < count; ++number) {
        EXPECT_EQ(from_virtual(to_virtual(number, root, count), root, count), number);
      }
    }
  }
}

TEST(PatternTest, HypercubeOfSeven) {
  EXPECT_THAT(hypercube_children(0, 7), ElementsAre(1, 2, 4));
  EXPECT_THAT(hypercube_children(1, 7), ElementsAre(3, 5));
  EXPECT_THAT(hypercube_children(2, 7), ElementsAre(6));
  EXPECT_THAT(hypercube_children(3, 7), IsEmpty());
  EXPECT_EQ(hypercube_parent(6), 2);
  EXPECT_EQ(hypercube_parent(5), 1);
}

TEST(PatternTest, BinomialTreeOfSeven) {
  EXPECT_THAT(binomial_children(0, 7), ElementsAre(1, 2, 4));
  EXPECT_THAT(binomial_children(2, 7), ElementsAre(3));
  EXPECT_THAT(binomial_children(4, 7), ElementsAre(5, 6));
  EXPECT_THAT(binomial_children(6, 7), IsEmpty());
  EXPECT_EQ(binomial_parent(6), 4);
  EXPECT_EQ(binomial_parent(5), 4);
  EXPECT_EQ(binomial_end(4, 7), 7);
  EXPECT_EQ(binomial_end(2, 7), 4);
  EXPECT_EQ(binomial_end(0, 7), 7);
}

/// Parents and children agree, and everybody hangs on node 0.
void expect_tree(std::int32_t count, const std::function<std::int32_t(std::int32_t)>& parent,
                 const std::function<std::vector<std::int32_t>(std::int32_t)>& children) {
  std::vector<int> parents_found(static_cast<std::size_t>(count), 0);
  for (std::int32_t node = 0; node < count; ++node) {
    const auto found = children(node);
    EXPECT_TRUE(std::ranges::is_sorted(found));
    for (const std::int32_t child : found) {
      EXPECT_EQ(parent(child), node);
      ++parents_found[static_cast<std::size_t>(child)];
    }
    if (node != 0) {
      EXPECT_LT(parent(node), node);
    }
  }
  EXPECT_EQ(parents_found[0], 0);
  EXPECT_EQ(std::ranges::count(parents_found, 1), count - 1);
}

TEST(PatternTest, TreesOfAnySizeReachEverybodyOnce) {
  for (std::int32_t count = 1; count <= 70; ++count) {
    expect_tree(count, hypercube_parent,
                [count](std::int32_t node) { return hypercube_children(node, count); });
    expect_tree(count, binomial_parent,
                [count](std::int32_t node) { return binomial_children(node, count); });
  }
}

}  // namespace
}  // namespace impishim::collectives
