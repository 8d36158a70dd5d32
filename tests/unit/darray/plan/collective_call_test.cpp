// SPDX-License-Identifier: Apache-2.0
#include "darray/communicator/collective_call.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace impishim::darray {
namespace {

CollectiveCall sum_along(std::vector<int> axes) {
  return CollectiveCall("sum")
      .with("operator", "sum of double")
      .with("axes", std::span<const int>(axes));
}

TEST(CollectiveCallTest, EqualCallsHaveEqualHashes) {
  EXPECT_EQ(sum_along({0, 1}).hash(), sum_along({0, 1}).hash());
  EXPECT_NE(sum_along({0, 1}).hash(), sum_along({1, 0}).hash());
  EXPECT_NE(CollectiveCall("sum").hash(), CollectiveCall("max").hash());
  EXPECT_NE(CollectiveCall("sum").with("known", true).hash(),
            CollectiveCall("sum").with("known", false).hash());
}

TEST(CollectiveCallTest, DifferencesAreToldByRankAndValue) {
  const std::string zero = sum_along({0}).text();
  const std::string one = sum_along({1}).text();
  EXPECT_EQ(first_difference(std::vector{zero, zero, zero}), "");
  EXPECT_EQ(first_difference(std::vector{zero, zero, zero, one}),
            "sum, axes: (0) on ranks 0-2, (1) on rank 3");
  EXPECT_EQ(first_difference(std::vector{zero, one, zero, zero, one}),
            "sum, axes: (0) on ranks 0, 2-3, (1) on ranks 1, 4");
  EXPECT_EQ(first_difference(std::vector{zero, CollectiveCall("median").text()}),
            "the operation: sum on rank 0, median on rank 1");
}

TEST(CollectiveCallTest, CallsOfOneOperationWithOtherArgumentsDiffer) {
  const std::string with = CollectiveCall("get_full").with("target", 0).text();
  EXPECT_EQ(first_difference(std::vector{CollectiveCall("get_full").text(), with}),
            "get_full, its arguments: nothing on rank 0, target on rank 1");
}

TEST(CollectiveCallTest, AWordIsOneLine) {
  const std::string path = CollectiveCall("save").with("path", "a\nb").text();
  EXPECT_EQ(path, "save\npath\na b\n");
}

}  // namespace
}  // namespace impishim::darray
