// SPDX-License-Identifier: Apache-2.0
// A line a minute about strangers.
#include "wire/channel/stranger_report.hpp"

#include <gtest/gtest.h>

namespace impishim::wire {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr StrangerReport::Clock::time_point kStart{seconds(1000)};

TEST(StrangerReport, FirstIsReportedAtOnceAndTheRestOfItsMinuteTogether) {
  StrangerReport report;
  EXPECT_FALSE(report.next().has_value());
  EXPECT_EQ(report.add("turned away a", kStart), "turned away a");
  for (int i = 0; i < 1000; ++i)
    EXPECT_FALSE(report.add("turned away b", kStart + milliseconds(i)).has_value());
  EXPECT_EQ(report.next(), kStart + seconds(60));
  EXPECT_FALSE(report.due(kStart + seconds(59)).has_value());
  EXPECT_EQ(report.due(kStart + seconds(60)), "turned away b (the latest of 1000 within 60 s)");
  EXPECT_FALSE(report.due(kStart + seconds(60)).has_value());
  EXPECT_FALSE(report.next().has_value());
}

TEST(StrangerReport, SecondOneAloneIsReportedAsItIs) {
  StrangerReport report;
  static_cast<void>(report.add("a", kStart));
  EXPECT_FALSE(report.add("b", kStart + seconds(1)).has_value());
  EXPECT_EQ(report.due(kStart + seconds(61)), "b");
}

TEST(StrangerReport, OneAfterAMinuteTellsOfThoseBefore) {
  StrangerReport report;
  static_cast<void>(report.add("a", kStart));
  static_cast<void>(report.add("b", kStart + seconds(1)));
  EXPECT_EQ(report.add("c", kStart + seconds(60)), "c (and 1 more before it)");
  EXPECT_EQ(report.add("d", kStart + seconds(120)), "d");
}

}  // namespace
}  // namespace impishim::wire
