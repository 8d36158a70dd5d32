// SPDX-License-Identifier: Apache-2.0
// Jobs of 320,000 processes: what one of them keeps.
#include <gtest/gtest.h>

#include "tests/scale/simulation.hpp"

namespace impishim::wire::test {
namespace {

class Scale : public testing::TestWithParam<std::int32_t> {};

INSTANTIATE_TEST_SUITE_P(Systems, Scale, testing::Values(2, 3, 4, 8));

/// DeltaFS Shuffle's own example: 10,000 nodes of 32 cores.
TEST_P(Scale, AProcessKeepsFewQueues) {
  constexpr std::size_t kRoutes = 200'000;
  const ScaleFigures figures = simulate({GetParam(), 10000, 32}, kRoutes);
  EXPECT_EQ(figures.procs, 320'000);
  EXPECT_EQ(figures.local_queues, 31U);
  EXPECT_EQ(figures.remote_queues, 313U);
  EXPECT_EQ(figures.fewest_remote_queues, 312U)
      << "the procs of a host share its connections evenly";
  EXPECT_EQ(figures.connections_of_a_host, 9999U);
  EXPECT_EQ(figures.routes[0], 0U);
  EXPECT_EQ(figures.routes[1] + figures.routes[2] + figures.routes[3], kRoutes);
  // 31 of 32 senders are not the representative, and so 31 of 32 receivers.
  EXPECT_NEAR(static_cast<double>(figures.routes[3]) / kRoutes, 31.0 * 31.0 / (32.0 * 32.0), 0.01);
  EXPECT_LE(figures.balance, 1.01);
  EXPECT_LE(figures.routing_bytes, std::size_t{16} << 20U);
}

TEST(ScaleOfSmallJobs, OneConnectionIsTheLowestProcs) {
  const ScaleFigures figures = simulate({2, 2, 4}, 1000);
  EXPECT_EQ(figures.remote_queues, 1U);
  EXPECT_EQ(figures.fewest_remote_queues, 0U);
  EXPECT_EQ(figures.local_queues, 3U);
  const JobMap job = make_large_job({2, 2, 4});
  EXPECT_EQ(job.procs()[0].host, 0);
}

TEST(ScaleOfSmallJobs, OtherShapes) {
  for (const ScaleShape& shape :
       {ScaleShape{3, 3, 1}, ScaleShape{3, 7, 2}, ScaleShape{5, 11, 3}, ScaleShape{2, 40, 48}}) {
    const ScaleFigures figures = simulate(shape, 5000);
    const auto hosts = static_cast<std::size_t>(shape.hosts);
    const auto procs = static_cast<std::size_t>(shape.procs_of_a_host);
    EXPECT_EQ(figures.connections_of_a_host, hosts - 1);
    EXPECT_EQ(figures.remote_queues, (hosts - 1 + procs - 1) / procs);
    EXPECT_EQ(figures.local_queues, procs - 1);
  }
}

}  // namespace
}  // namespace impishim::wire::test
