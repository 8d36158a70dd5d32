// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/top_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/unit/wire/watch/job_states.hpp"

namespace impishim::wire {
namespace {

using test::JobOf;
using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;

/// Two systems of a rank each, after `seconds`, with so many bytes from the first to the second.
Sample sample(int seconds, std::uint64_t bytes) {
  JobOf job(2);
  for (ProcessState& process : job.state.processes) process.counters.emplace();
  job.process(0).counters->systems = {{1, bytes / 100, bytes, 0, 0}};
  job.process(0).counters->sent_bytes = bytes / 2;
  job.process(0).counters->relay_stalls = bytes / 1000;
  job.process(1).counters->resident_bytes = 12345678;
  return {std::chrono::steady_clock::time_point(std::chrono::seconds(seconds)), job.state};
}

TEST(TopReport, RatesAreForASecond) {
  const JobRates rates = rates_between(sample(10, 1000), sample(12, 5000));
  ASSERT_THAT(rates.pairs, SizeIs(1));
  EXPECT_DOUBLE_EQ(rates.pairs.at({0, 1}).bytes, 2000);
  EXPECT_DOUBLE_EQ(rates.pairs.at({0, 1}).packets, 20);
  EXPECT_DOUBLE_EQ(rates.processes.at(0).sent_bytes, 1000);
  EXPECT_DOUBLE_EQ(rates.processes.at(0).stalls, 2);
}

TEST(TopReport, AProcessThatIsNewHasNoRates) {
  Sample before = sample(10, 1000);
  before.state.processes.erase(before.state.processes.begin());
  const JobRates rates = rates_between(before, sample(12, 5000));
  EXPECT_EQ(rates.processes.count(0), 0U);
  EXPECT_TRUE(rates.pairs.empty());
}

TEST(TopReport, ACounterThatBeganAnewIsNotNegative) {
  EXPECT_DOUBLE_EQ(rates_between(sample(10, 5000), sample(12, 1000)).pairs.at({0, 1}).bytes, 0);
  EXPECT_DOUBLE_EQ(rates_between(sample(10, 1), sample(10, 2)).pairs.at({0, 1}).bytes, 0);
}

TEST(TopReport, LinesHaveTheRatesAndTheWaits) {
  Sample now = sample(12, 5000);
  now.state.processes[1].calls[0] = {
      true, false, "MPI_Recv", 6500, 1, {{AwaitedKind::kReceive, 0, 7, test::kWorld, 0, ""}}};
  const auto lines = top_lines("here:1", now.state, rates_between(sample(10, 1000), now));
  EXPECT_EQ(lines[0], "impishim here:1: 2 of 2 processes in 2 systems");
  EXPECT_THAT(lines, Contains("from 0           -     2.0k"));
  EXPECT_THAT(lines.back(),
              HasSubstr("   12M  6.5 s in MPI_Recv on world, from rank 0 with tag 7"));
}

TEST(TopReport, JsonHasTheSameNumbers) {
  const Sample now = sample(12, 5000);
  const auto json =
      nlohmann::json::parse(top_json(now.state, rates_between(sample(10, 1000), now)));
  EXPECT_EQ(json["pairs"][0]["from"], 0);
  EXPECT_EQ(json["pairs"][0]["bytes_per_second"], 2000.0);
  EXPECT_EQ(json["processes"][1]["counters"]["resident_bytes"], 12345678);
}

TEST(ScreenUpdate, WritesOverWhatIsThere) {
  EXPECT_EQ(screen_update({"one", "two"}, 5, 80), "\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[J");
}

TEST(ScreenUpdate, CutsWhatDoesNotFit) {
  EXPECT_EQ(screen_update({"one", "two", "three"}, 2, 2), "\x1b[Hon\x1b[K\r\ntw\x1b[K\x1b[J");
  // A character of two bytes stays whole.
  EXPECT_EQ(screen_update({"a\xc3\xa9"}, 1, 2), "\x1b[Ha\x1b[K\x1b[J");
}

}  // namespace
}  // namespace impishim::wire
