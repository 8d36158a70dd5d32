// SPDX-License-Identifier: Apache-2.0
#include "wire/trace/clock_line.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace impishim::wire {
namespace {

TEST(CompareClocks, NothingWithoutAnAnswer) { EXPECT_FALSE(compare_clocks({})); }

TEST(CompareClocks, TheShortestRoundTripCounts) {
  const std::vector<ClockAnswer> answers = {{100, 1350, 300}, {400, 1410, 420}, {500, 1555, 560}};
  const auto sample = compare_clocks(answers);
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->own_ns, 410);
  EXPECT_EQ(sample->offset_ns, 1000);
  EXPECT_EQ(sample->error_ns, 10);
}

TEST(CompareClocks, TheErrorBoundsTheOffset) {
  // The other clock is 1000 ahead, and the answer took all the time on one of the two ways.
  for (const std::int64_t answered : {1100, 1160}) {
    const std::vector<ClockAnswer> answers = {{100, answered, 160}};
    const auto sample = compare_clocks(answers);
    ASSERT_TRUE(sample);
    EXPECT_LE(std::abs(sample->offset_ns - 1000), sample->error_ns);
  }
}

TEST(ClockLine, WithoutASampleIsItself) {
  const ClockLine line;
  EXPECT_FALSE(line.is_known());
  EXPECT_EQ(line.at(1234), 1234);
  EXPECT_EQ(line.error_ns(), 0);
}

TEST(ClockLine, OneSampleIsAnOffset) {
  ClockLine line;
  line.add({500, -200, 7});
  EXPECT_TRUE(line.is_known());
  EXPECT_EQ(line.at(0), -200);
  EXPECT_EQ(line.at(1000), 800);
  EXPECT_EQ(line.error_ns(), 7);
}

TEST(ClockLine, TwoSamplesAreALine) {
  ClockLine line;
  line.add({0, 100, 3});
  line.add({1000000, 300, 9});
  EXPECT_EQ(line.at(0), 100);
  EXPECT_EQ(line.at(500000), 500200);
  EXPECT_EQ(line.at(1000000), 1000300);
  EXPECT_EQ(line.error_ns(), 9);
}

TEST(ClockLine, TheLatestSampleCounts) {
  ClockLine line;
  line.add({0, 0, 1});
  line.add({100, 50, 1});
  line.add({1000, 1000, 1});
  EXPECT_EQ(line.at(500), 1000);
}

TEST(ClockLine, TwoSamplesAtOneTime) {
  ClockLine line;
  line.add({100, 50, 1});
  line.add({100, 60, 1});
  EXPECT_EQ(line.at(200), 250);
}

TEST(ClockLine, OutsideOfTheSamplesTheNearestCounts) {
  ClockLine line;
  line.add({1000, 100, 1});
  line.add({2000, 200, 1});
  EXPECT_EQ(line.at(0), 100);
  EXPECT_EQ(line.at(5000), 5200);
}

TEST(ClockLine, DifferencesWithinTheErrorsAreNoSpeed) {
  ClockLine line;
  line.add({1000, 100, 60});
  line.add({2000, 160, 10});
  EXPECT_EQ(line.at(1000), 1160);
  EXPECT_EQ(line.at(9000), 9160);
  EXPECT_EQ(line.error_ns(), 60);
}

TEST(ClockLine, LongTimesKeepTheirNanoseconds) {
  constexpr std::int64_t kYear = 31536000000000000;
  ClockLine line;
  line.add({kYear, 5, 0});
  line.add({kYear + 1000000000, 7, 0});
  EXPECT_EQ(line.at(kYear + 500000000), kYear + 500000006);
}

}  // namespace
}  // namespace impishim::wire
