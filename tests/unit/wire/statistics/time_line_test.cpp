// SPDX-License-Identifier: Apache-2.0
#include "wire/statistics/time_line.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "wire/statistics/call_scope.hpp"
#include "wire/statistics/log_histogram.hpp"

namespace impishim::wire {
namespace {

constexpr std::uint64_t kMs = TimeLine::kFirstWidth;
constexpr std::size_t kBetween = index_of(CallScope::kBetween);

std::uint64_t total_ns(const TimeLine& line) {
  std::uint64_t sum = 0;
  for (const TimeBin& bin : line.bins())
    for (const std::uint64_t ns : bin.ns) sum += ns;
  return sum;
}

TEST(LogHistogram, ClassesDouble) {
  LogHistogram histogram;
  EXPECT_EQ(histogram.used(), 0U);
  for (const std::uint64_t value : {0ULL, 1ULL, 2ULL, 3ULL, 4ULL}) histogram.add(value);
  EXPECT_EQ(histogram.used(), 4U);
  EXPECT_EQ(histogram.counts[0], 1U);
  EXPECT_EQ(histogram.counts[1], 1U);
  EXPECT_EQ(histogram.counts[2], 2U);
  EXPECT_EQ(histogram.counts[3], 1U);
  histogram.add(UINT64_MAX, 2);
  EXPECT_EQ(histogram.counts[LogHistogram::kClasses - 1], 2U);
  EXPECT_EQ(LogHistogram::lowest(3), 4U);
  EXPECT_EQ(LogHistogram::lowest(0), 0U);
}

TEST(TimeLine, ACallIsSpreadOverTheIntervalsThatItTouches) {
  TimeLine line;
  line.add_call(CallScope::kBetween, kMs / 2, 2 * kMs + kMs / 4);
  ASSERT_EQ(line.bins().size(), 3U);
  EXPECT_EQ(line.bins()[0].ns[kBetween], kMs / 2);
  EXPECT_EQ(line.bins()[1].ns[kBetween], kMs);
  EXPECT_EQ(line.bins()[2].ns[kBetween], kMs / 4);
}

TEST(TimeLine, FullIntervalsBecomeHalfAsMany) {
  TimeLine line;
  line.add_call(CallScope::kInside, 0, kMs);
  line.add_call(CallScope::kInside, 3 * kMs, 4 * kMs);
  line.add_message(CallScope::kInside, 3 * kMs, 100);
  line.add_call(CallScope::kInside, TimeLine::kMostBins * kMs, (TimeLine::kMostBins + 1) * kMs);
  EXPECT_EQ(line.width_ns(), 2 * kMs);
  EXPECT_EQ(line.bins().size(), TimeLine::kMostBins / 2 + 1);
  EXPECT_EQ(line.bins()[0].ns[0], kMs);
  EXPECT_EQ(line.bins()[1].ns[0], kMs);
  EXPECT_EQ(line.bins()[1].bytes[0], 100U);
  EXPECT_EQ(total_ns(line), 3 * kMs);
}

TEST(TimeLine, AYearStaysInItsBound) {
  constexpr std::uint64_t kYear = 365ULL * 86400 * 1000 * kMs;
  TimeLine line;
  line.add_call(CallScope::kOther, 0, kYear);
  EXPECT_LE(line.bins().size(), TimeLine::kMostBins);
  EXPECT_EQ(total_ns(line), kYear);
}

TEST(TimeLine, ACallWithoutDurationIsNone) {
  TimeLine line;
  line.add_call(CallScope::kInside, kMs, kMs);
  EXPECT_TRUE(line.bins().empty());
}

}  // namespace
}  // namespace impishim::wire
