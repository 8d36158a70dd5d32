// SPDX-License-Identifier: Apache-2.0
#include "wire/report/chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "made_job.hpp"
#include "wire/statistics/call_scope.hpp"

namespace impishim::report {
namespace {

using testing::ElementsAre;
using wire::CallScope;

TEST(ValueText, HasTheUnitThatFits) {
  EXPECT_EQ(value_text(999, ChartUnit::kBytes), "999 B");
  EXPECT_EQ(value_text(1500, ChartUnit::kBytes), "1.5 kB");
  EXPECT_EQ(value_text(2500000, ChartUnit::kNanoseconds), "2.5 ms");
  EXPECT_EQ(value_text(5e12, ChartUnit::kNanoseconds), "5000 s");
  EXPECT_EQ(value_text(37.96, ChartUnit::kPercent), "38.0 %");
  EXPECT_EQ(value_text(1234567, ChartUnit::kCount), "1234567");
}

TEST(Charts, TrafficOfSystemsHostsAndRanks) {
  auto processes = four_processes();
  processes[1].sent[2] = {2, 100};
  processes[0].sent[3] = {1, 50};
  const auto charts = traffic_charts(job_of(processes));
  ASSERT_EQ(charts.size(), 3U);
  EXPECT_THAT(charts[0].names, ElementsAre("system 0", "system 1"));
  // A series is a receiver: its values are the senders'.
  EXPECT_THAT(charts[0].series.at(1).values, ElementsAre(150, 0));
  EXPECT_THAT(charts[2].series.at(2).values, ElementsAre(0, 100, 0, 0));
}

TEST(Charts, AMatrixOfTooManyRanksIsLeftOut) {
  auto processes = four_processes();
  for (auto& each : processes) each.size = static_cast<std::int32_t>(kMostParts) + 1;
  const auto charts = traffic_charts(job_of(processes));
  EXPECT_EQ(charts.size(), 2U);
}

TEST(Charts, FunctionsThatTakeMostComeFirst) {
  auto processes = four_processes();
  add_function(processes[0], "MPI_Send", CallScope::kInside, 1, 10);
  add_function(processes[0], "MPI_Recv", CallScope::kBetween, 1, 20);
  const auto charts = time_charts(job_of(processes));
  EXPECT_THAT(charts.at(1).names, ElementsAre("MPI_Recv", "MPI_Send"));
}

TEST(Charts, TimeLinesOfDifferentWidthsAreJoined) {
  auto processes = four_processes();
  processes[0].time_line = {{{kSecond, 0, 0}, {}}, {{0, kSecond, 0}, {}}};
  processes[1].bin_ns = 2 * kSecond;
  processes[1].time_line = {{{kSecond, 0, 0}, {}}};
  const auto charts = time_charts(job_of(processes));
  ASSERT_THAT(charts.at(2).names, ElementsAre("0"));
  // Two ranks, two seconds: three of four seconds in MPI.
  EXPECT_THAT(charts[2].series.at(0).values, ElementsAre(75));
}

TEST(Charts, HistogramsBeginWhereValuesAre) {
  auto processes = four_processes();
  processes[0].message_bytes[index_of(CallScope::kInside)].add(8, 5);
  processes[0].message_bytes[index_of(CallScope::kBetween)].add(40, 7);
  processes[1].batch_bytes[index_of(CallScope::kBetween)].add(1024, 3);
  processes[0].answer_ns.add(1 << 16, 2);
  processes[3].answer_ns.add(1 << 16);
  const auto charts = histogram_charts(job_of(processes));
  EXPECT_THAT(charts.at(0).names, ElementsAre("≥ 8 B", "≥ 16 B", "≥ 32 B"));
  EXPECT_THAT(charts.at(1).names, ElementsAre("≥ 1.02 kB"));
  EXPECT_THAT(charts.at(2).names, ElementsAre("≥ 65.5 µs"));
  EXPECT_EQ(charts.at(2).id, "answer-times");
  EXPECT_THAT(charts.at(2).series.at(1).values, ElementsAre(3));
  EXPECT_TRUE(charts.at(3).names.empty());
}

}  // namespace
}  // namespace impishim::report
