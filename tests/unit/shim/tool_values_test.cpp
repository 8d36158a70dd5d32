// SPDX-License-Identifier: Apache-2.0
#include "shim/values/tool_values.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace impishim::shim {
namespace {

TEST(ToolIndices, OwnVariablesStandBehindTheVendors) {
  ToolIndices indices(3);
  indices.settle(10);
  EXPECT_EQ(indices.total(10), 13);
  EXPECT_FALSE(indices.place(9).own);
  EXPECT_TRUE(indices.place(10).own);
  EXPECT_EQ(indices.place(12).index, 2);
  EXPECT_EQ(indices.of_own(0), 10);
  EXPECT_FALSE(indices.place(-1).own);
}

TEST(ToolIndices, VariablesThatTheVendorAddsMoveNone) {
  ToolIndices indices(3);
  indices.settle(10);
  indices.settle(15);
  EXPECT_EQ(indices.of_own(0), 10);
  EXPECT_EQ(indices.of_vendor(9), 9);
  EXPECT_EQ(indices.of_vendor(10), 13);
  EXPECT_EQ(indices.place(13).index, 10);
  EXPECT_FALSE(indices.place(13).own);
  for (int vendors = 0; vendors < 15; ++vendors)
    EXPECT_EQ(indices.place(indices.of_vendor(vendors)).index, vendors);
}

TEST(ToolText, IsCutToTheBuffer) {
  std::array<char, 4> buffer{'x', 'x', 'x', 'x'};
  int length = 3;
  give_text("abcdef", buffer.data(), &length);
  EXPECT_STREQ(buffer.data(), "ab");
  EXPECT_EQ(buffer[3], 'x');
  EXPECT_EQ(length, 7);
}

TEST(ToolText, LengthAloneAndNothing) {
  int length = 5;
  give_text("abc", nullptr, &length);
  EXPECT_EQ(length, 4);
  char letter = 'x';
  length = 0;
  give_text("abc", &letter, &length);
  EXPECT_EQ(length, 4);
  give_text("abc", &letter, nullptr);
  EXPECT_EQ(letter, 'x');
}

TEST(ToolCount, CountsFromStartToStop) {
  ToolCount count;
  EXPECT_EQ(count.value(50), 0);
  count.start(50);
  EXPECT_EQ(count.value(60), 10);
  count.start(60);  // runs already
  count.stop(70);
  EXPECT_EQ(count.value(100), 20);
  count.start(100);
  EXPECT_EQ(count.value(105), 25);
  count.set(7, 110);
  EXPECT_EQ(count.value(111), 8);
  count.stop(112);
  count.set(0, 120);
  EXPECT_EQ(count.value(130), 0);
}

}  // namespace
}  // namespace impishim::shim
