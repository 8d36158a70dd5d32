// SPDX-License-Identifier: Apache-2.0
// The library's collectives on simulated networks of systems, beside flat algorithms.
#include "tests/scale/collectives/comparison.hpp"

#include <gtest/gtest.h>

namespace impishim::scale {
namespace {

/// A road that is long against all that processors do.
NetworkTimes long_road() {
  NetworkTimes times;
  times.across.latency = 10'000;
  return times;
}

std::uint64_t pairs_of(std::uint64_t systems) { return systems * (systems - 1); }

class OnALongRoad : public testing::TestWithParam<std::int32_t> {};
INSTANTIATE_TEST_SUITE_P(Systems, OnALongRoad, testing::Values(2, 4, 8));

TEST_P(OnALongRoad, ShortDataTakesOneDelay) {
  for (const std::string_view name : compared_collectives()) {
    SCOPED_TRACE(name);
    const Comparison found = compare(name, 8, {GetParam(), 128 / GetParam()}, long_road());
    EXPECT_GE(found.ours.us, 10'000);
    EXPECT_LE(found.ours.us, 1.05 * 10'000 + (name == "alltoall" ? 5'000 : 0));
    EXPECT_LE(found.ours.us, 1.02 * found.flat.us);
  }
}

TEST_P(OnALongRoad, MessagesGrowWithSystemsAndNotWithRanks) {
  const auto systems = static_cast<std::uint64_t>(GetParam());
  for (const std::int32_t ranks : {64, 512}) {
    const Shape shape{GetParam(), ranks / GetParam()};
    EXPECT_EQ(compare("barrier", 0, shape, long_road()).ours.crossings, pairs_of(systems));
    EXPECT_EQ(compare("bcast", 8, shape, long_road()).ours.crossings, systems - 1);
    EXPECT_EQ(compare("reduce", 8, shape, long_road()).ours.crossings, systems - 1);
    EXPECT_EQ(compare("allreduce", 8, shape, long_road()).ours.crossings, pairs_of(systems));
    EXPECT_EQ(compare("allgather", 8, shape, long_road()).ours.crossing_bytes,
              8 * static_cast<std::uint64_t>(ranks) * (systems - 1));
  }
}

TEST_P(OnALongRoad, LongDataCrossesOnce) {
  constexpr std::uint64_t kBytes = 65536;
  const auto systems = static_cast<std::uint64_t>(GetParam());
  const Shape shape{GetParam(), 256 / GetParam()};
  EXPECT_EQ(compare("bcast", kBytes, shape, {}).ours.crossing_bytes, kBytes * (systems - 1));
  EXPECT_EQ(compare("reduce", kBytes, shape, {}).ours.crossing_bytes, kBytes * (systems - 1));
  for (const std::string_view name : {"bcast", "reduce", "allreduce", "scan"}) {
    SCOPED_TRACE(name);
    const Comparison found = compare(name, kBytes, shape, {});
    EXPECT_LE(found.ours.us, 0.8 * found.flat.us);
  }
}

TEST(CollectivesAtScale, ThousandsOfRanksAreNotSlowerThanFlatAlgorithms) {
  for (const std::string_view name : {"barrier", "bcast", "allreduce"}) {
    SCOPED_TRACE(name);
    const Comparison found = compare(name, 8, {8, 512}, {});
    EXPECT_LE(found.ours.us, 1.02 * found.flat.us);
  }
}

TEST(CollectivesAtScale, ShortRoadsToo) {
  NetworkTimes times;
  times.across.latency = 10;
  for (const std::string_view name : {"barrier", "bcast", "reduce", "allreduce", "scan"}) {
    SCOPED_TRACE(name);
    const Comparison found = compare(name, 8, {4, 256}, times);
    EXPECT_LE(found.ours.us, 1.6 * found.flat.us);
  }
}

TEST(TimedJob, TellsOfADeadlock) {
  TimedJob job(2, 1, {});
  const Timing timing = job.run([](std::int32_t rank, const collectives::Team& team) {
    return [](std::int32_t here, const collectives::Team& members) -> collectives::Task {
      const wire::TypeLayout& bytes = wire::TypeLayout::basic(wire::BasicType::kByte);
      co_await members.leaders.post_receive(1 - here, 1, wire::MutableBuffer{nullptr, 0, &bytes});
    }(rank, team);
  });
  EXPECT_EQ(timing.failure, "deadlock: 0 of 2 tasks ended");
}

TEST(TimedJob, CountsWhatOneMessageTakes) {
  NetworkTimes times;
  times.across = {100, 2, 1, 0.5};
  const Comparison found = compare("bcast", 1000, {2, 1}, times);
  EXPECT_DOUBLE_EQ(found.flat.us, 2 + 1000 * 0.5 + 100 + 2);
}

}  // namespace
}  // namespace impishim::scale
