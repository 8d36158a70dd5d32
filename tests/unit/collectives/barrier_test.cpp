// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <ranges>
#include <vector>

#include "simulated_job.hpp"

namespace impishim::collectives::test {
namespace {

std::vector<std::int32_t> destinations(const std::vector<Message>& messages, std::int32_t from) {
  std::vector<std::int32_t> found;
  for (const Message& message : messages) {
    if (message.from == from) found.push_back(message.to);
  }
  return found;
}

TEST(BarrierTest, ImpiFormsSendOneMessageUpAndOneDownForEveryMasterButTheFirst) {
  for_each_job([](SimulatedJob& job) {
    job.limits.impi_only = true;
    ASSERT_TRUE(job.run([](std::int32_t, const Team& team) { return barrier(team); }))
        << job.failure();
    EXPECT_EQ(job.messages().size(),
              2 * (static_cast<std::size_t>(job.membership(0).client_count()) - 1));
    EXPECT_TRUE(std::ranges::all_of(
        job.messages(), [](const Message& m) { return m.tag == 110 && m.elements == 0; }));
  });
}

TEST(BarrierTest, OwnFormsTakeOneDelayOrTheLogarithm) {
  for_each_job([](SimulatedJob& job) {
    for (const bool doubles : {false, true}) {
      if (doubles) job.limits.overrides = parse_overrides("barrier=doubling").value();
      ASSERT_TRUE(job.run([](std::int32_t, const Team& team) { return barrier(team); }))
          << job.failure();
      const auto clients = static_cast<std::size_t>(job.membership(0).client_count());
      const auto rounds = static_cast<std::size_t>(std::bit_width(clients - 1));
      EXPECT_EQ(job.delays(), clients == 1 ? 0 : (doubles ? static_cast<std::int32_t>(rounds) : 1));
      EXPECT_EQ(job.messages().size(), clients * (doubles ? rounds : clients - 1));
      EXPECT_TRUE(
          std::ranges::all_of(job.messages(), [](const Message& m) { return m.elements == 0; }));
    }
  });
}

/// Nobody leaves before the last has entered.
Task enter_and_leave(const Team& team, std::vector<int>& entered, bool& early) {
  co_await team.local.barrier();  // let all tasks have run before the order is observed
  entered[static_cast<std::size_t>(team.membership.rank)] = 1;
  co_await barrier(team);
  early = early || std::ranges::count(entered, 0) > 0;
}

TEST(BarrierTest, HoldsEverybodyUntilTheLastHasCome) {
  for_each_job([](SimulatedJob& job) {
    for (const char* form :
         {"", "barrier=linear", "barrier=tree", "barrier=exchange", "barrier=doubling"}) {
      job.limits.overrides = *parse_overrides(form);
      std::vector<int> entered(static_cast<std::size_t>(job.size()), 0);
      bool early = false;
      const bool ran = job.run(
          [&](std::int32_t, const Team& team) { return enter_and_leave(team, entered, early); });
      ASSERT_TRUE(ran) << job.failure();
      EXPECT_FALSE(early);
    }
  });
}

TEST(BarrierTest, ImpiLinearFormTalksToMastersInOrder) {
  SimulatedJob job({0, 0, 1, 2, 2, 3}, SendEnds::kAtOnce);
  job.limits.impi_only = true;
  ASSERT_TRUE(job.run([](std::int32_t, const Team& team) { return barrier(team); }))
      << job.failure();
  EXPECT_THAT(destinations(job.messages(), 0), testing::ElementsAre(2, 3, 5));
  for (const std::int32_t master : {2, 3, 5})
    EXPECT_THAT(destinations(job.messages(), master), testing::ElementsAre(0));
}

TEST(BarrierTest, ImpiHypercubeFormTalksToNeighboursInOrder) {
  SimulatedJob job({0, 1, 2, 3, 4, 5, 6}, SendEnds::kAtOnce);
  job.limits.impi_only = true;
  ASSERT_TRUE(job.run([](std::int32_t, const Team& team) { return barrier(team); }))
      << job.failure();
  EXPECT_THAT(destinations(job.messages(), 0), testing::ElementsAre(1, 2, 4));
  EXPECT_THAT(destinations(job.messages(), 1), testing::ElementsAre(0, 3, 5));
  EXPECT_THAT(destinations(job.messages(), 2), testing::ElementsAre(0, 6));
  EXPECT_THAT(destinations(job.messages(), 5), testing::ElementsAre(1));
}

Task forgets_to_enter(const Team& team) {
  if (team.membership.rank != 0) co_await barrier(team);
}

TEST(SimulatedJobTest, FindsADeadlock) {
  SimulatedJob job({0, 1, 2}, SendEnds::kAtOnce);
  EXPECT_FALSE(job.run([](std::int32_t, const Team& team) { return forgets_to_enter(team); }));
  EXPECT_THAT(job.failure(), testing::HasSubstr("deadlock: 1 of 3"));
}

}  // namespace
}  // namespace impishim::collectives::test
