// SPDX-License-Identifier: Apache-2.0
// What hosts by the size of the job cost a process.
#include "tests/scale/job_cost.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

namespace impishim::wire::test {
namespace {

constexpr std::size_t kRoutes = 20'000;

TEST(JobCost, UpToSixtyFourRemoteProcessesNothingIsRelayed) {
  for (const std::int32_t procs : {1, 4, 64}) {
    const JobCost cost = cost_of({.procs_of_a_system = procs}, kRoutes);
    EXPECT_EQ(cost.host_procs, 1);
    EXPECT_EQ(cost.channels, static_cast<std::size_t>(procs));
    EXPECT_EQ(cost.descriptors, cost.channels);
    EXPECT_EQ(cost.relayed, 0.0);
  }
}

TEST(JobCost, HostsOfFourShareChannelsToAThousandProcesses) {
  const JobCost cost = cost_of({.procs_of_a_system = 1024}, kRoutes);
  EXPECT_EQ(cost.host_procs, 4);
  EXPECT_EQ(cost.channels, 64U);
  EXPECT_EQ(cost.local_links, 3U);
  EXPECT_NEAR(cost.relayed, 15.0 / 16, 0.01);
}

TEST(JobCost, LanesChangeHopsIntoLocalLinks) {
  const JobCost one = cost_of({.procs_of_a_system = 1024}, kRoutes);
  const JobCost sixteen = cost_of({.procs_of_a_system = 1024, .lanes = 16}, kRoutes);
  EXPECT_EQ(sixteen.host_procs, 16);
  EXPECT_EQ(sixteen.channels, one.channels);
  EXPECT_EQ(sixteen.local_links, 15U);
  EXPECT_NEAR(one.hops, 2.5, 0.02);
  EXPECT_NEAR(sixteen.hops, 2.0 - 1.0 / 16, 0.02);
}

TEST(JobCost, TheLargestJobsHaveHostsOfWholeNodes) {
  const JobCost cost = cost_of({.procs_of_a_system = 160'000}, kRoutes);
  EXPECT_EQ(cost.host_procs, 32);
  EXPECT_EQ(cost.local_links, 31U);
  EXPECT_LE(cost.channels, 157U);
}

TEST(JobCost, AChannelTakesLittleMemory) {
  if (mallinfo2().uordblks == 0) GTEST_SKIP() << "a sanitizer's allocator tells no sizes";
  const JobCost cost = cost_of({.procs_of_a_system = 64}, kRoutes);
  EXPECT_GT(cost.channel_bytes, 0U);
  EXPECT_LE(cost.channel_bytes, std::size_t{4} << 20U);
}

TEST(StartupCost, RoundTripsDoNotGrowWithTheJob) {
  const StartupCost few = startup_of({.procs_of_a_system = 2});
  const StartupCost many = startup_of({.procs_of_a_system = 160'000});
  EXPECT_EQ(few.round_trips, many.round_trips);
  // Of each process an address of 16 bytes and a number of 8, which the answers repeat.
  EXPECT_GE(many.sent, std::size_t{160'000} * 24);
  EXPECT_LE(many.sent, std::size_t{160'000} * 28);
  EXPECT_NEAR(static_cast<double>(many.received), 2.0 * static_cast<double>(many.sent), 1024);
}

}  // namespace
}  // namespace impishim::wire::test
