// SPDX-License-Identifier: Apache-2.0
#include "wire/statistics/call_statistics.hpp"

#include <gtest/gtest.h>

#include <cstddef>

#include "wire/statistics/call_scope.hpp"

namespace impishim::wire {
namespace {

constexpr std::size_t kInside = index_of(CallScope::kInside);
constexpr std::size_t kBetween = index_of(CallScope::kBetween);

TEST(CallStatistics, AddsCallsByFunctionAndScope) {
  CallStatistics statistics(3);
  statistics.add_call({1, CallScope::kBetween, 4, 10, 30});
  statistics.add_call({1, CallScope::kBetween, -1, 40, 45});
  statistics.add_call({1, CallScope::kInside, -1, 50, 51});
  const CallSums sums = statistics.sums();
  EXPECT_EQ(sums.functions[0][kBetween].calls, 0U);
  EXPECT_EQ(sums.functions[1][kBetween].calls, 2U);
  EXPECT_EQ(sums.functions[1][kBetween].ns, 25U);
  EXPECT_EQ(sums.functions[1][kInside].ns, 1U);
  EXPECT_EQ(sums.functions[1][kBetween].durations.counts[5], 1U);  // 20
  EXPECT_EQ(sums.functions[1][kBetween].durations.counts[3], 1U);  // 5
  ASSERT_EQ(sums.waited_ns.size(), 1U);
  EXPECT_EQ(sums.waited_ns.at(4), 20U);
}

TEST(CallStatistics, AddsMessagesByReceiverAndSize) {
  CallStatistics statistics(1);
  statistics.add_messages(7, CallScope::kInside, 0, 2, 100);
  statistics.add_messages(7, CallScope::kInside, 0, 1, 0);
  statistics.add_messages(2, CallScope::kBetween, 0, 1, 8);
  const CallSums sums = statistics.sums();
  EXPECT_EQ(sums.sent.at(7), (PeerTraffic{3, 200}));
  EXPECT_EQ(sums.sent.at(2), (PeerTraffic{1, 8}));
  EXPECT_EQ(sums.message_bytes[kInside].counts[0], 1U);
  EXPECT_EQ(sums.message_bytes[kInside].counts[7], 2U);
  EXPECT_EQ(sums.message_bytes[kBetween].counts[4], 1U);
}

}  // namespace
}  // namespace impishim::wire
