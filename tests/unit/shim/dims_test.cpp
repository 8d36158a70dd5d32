// SPDX-License-Identifier: Apache-2.0
// MPI_Dims_create's arithmetic: against trying all factors, for given dimensions, and its errors.
#include "shim/values/dims.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace impishim::shim {
namespace {

using ::testing::ElementsAre;

std::vector<std::int32_t> chosen(std::int32_t nodes, std::vector<std::int32_t> dims) {
  const auto done = choose_dims(nodes, dims);
  EXPECT_TRUE(done.ok()) << done.error().text;
  return dims;
}

/// The smallest of all non-increasing factorizations, compared factor by factor.
std::vector<std::int32_t> best_by_trying(std::int32_t nodes, std::size_t count) {
  std::vector<std::int32_t> best;
  std::vector<std::int32_t> factors;
  const std::function<void(std::int32_t)> extend = [&](std::int32_t rest) {
    if (factors.size() == count) {
      if (rest == 1 && (best.empty() || factors < best)) best = factors;
      return;
    }
    const std::int32_t limit = factors.empty() ? rest : factors.back();
    for (std::int32_t factor = 1; factor <= std::min(limit, rest); ++factor) {
      if (rest % factor != 0) continue;
      factors.push_back(factor);
      extend(rest / factor);
      factors.pop_back();
    }
  };
  extend(nodes);
  return best;
}

TEST(Dims, AllSmallGridsAreTheBestThereAre) {
  for (std::int32_t nodes = 1; nodes <= 240; ++nodes) {
    for (std::size_t count = 1; count <= 4; ++count) {
      EXPECT_EQ(chosen(nodes, std::vector<std::int32_t>(count, 0)), best_by_trying(nodes, count))
          << nodes << " " << count;
    }
  }
}

TEST(Dims, LargeNumbers) {
  EXPECT_THAT(chosen(2147483647, {0, 0}), ElementsAre(2147483647, 1));  // a prime
  EXPECT_THAT(chosen(1 << 30, {0, 0, 0}), ElementsAre(1024, 1024, 1024));
  EXPECT_THAT(chosen(46337 * 46337, {0, 0}), ElementsAre(46337, 46337));
  EXPECT_EQ(chosen(1 << 30, std::vector<std::int32_t>(15, 0)), std::vector<std::int32_t>(15, 4));
}

TEST(Dims, GivenOnesStay) {
  EXPECT_THAT(chosen(6, {2, 3}), ElementsAre(2, 3));
  EXPECT_THAT(chosen(6, {0, 3, 0}), ElementsAre(2, 3, 1));
  EXPECT_THAT(chosen(36, {0, 1, 0, 4}), ElementsAre(3, 1, 3, 4));
  EXPECT_THAT(chosen(1, {}), ElementsAre());
}

TEST(Dims, ErrorsSetNothing) {
  struct Case {
    std::int32_t nodes;
    std::vector<std::int32_t> dims;
  };
  for (Case wrong :
       {Case{7, {0, 3, 0}}, Case{6, {2, 2}}, Case{6, {-2, 0}}, Case{0, {0}}, Case{-4, {0}},
        Case{2, {}}, Case{4, {8, 0}}, Case{4, {65536, 65536, 65536, 65536, 0}}}) {
    const auto before = wrong.dims;
    EXPECT_FALSE(choose_dims(wrong.nodes, wrong.dims).ok()) << wrong.nodes;
    EXPECT_EQ(wrong.dims, before);
  }
}

}  // namespace
}  // namespace impishim::shim
