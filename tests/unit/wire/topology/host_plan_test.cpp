// SPDX-License-Identifier: Apache-2.0
// Which procs form a host, with and without gateways, and which values of IMPISHIM_GATEWAY are
// refused.
#include "wire/topology/host_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace impishim::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::vector<std::int32_t>> planned(const std::vector<std::int32_t>& places,
                                               std::int32_t host_procs,
                                               const std::vector<std::int32_t>& gateways) {
  std::vector<std::vector<std::int32_t>> all;
  for (const PlannedHost& host : plan_hosts(places, host_procs, gateways)) {
    all.push_back({host.first, host.count, host.gateway});
  }
  return all;
}

using H = std::vector<std::int32_t>;

TEST(HostPlan, OneForEachRowOfRanksInAPlace) {
  EXPECT_THAT(planned({0, 0, 0}, 0, {}), ElementsAre(H{0, 3, -1}));
  EXPECT_THAT(planned({0, 0, 2, 2, 2}, 0, {}), ElementsAre(H{0, 2, -1}, H{2, 3, -1}));
  EXPECT_THAT(planned({0, 1, 0, 1}, 0, {}),
              ElementsAre(H{0, 1, -1}, H{1, 1, -1}, H{2, 1, -1}, H{3, 1, -1}));
  EXPECT_THAT(planned({0, 0, 0, 3, 3}, 2, {}), ElementsAre(H{0, 2, -1}, H{2, 1, -1}, H{3, 2, -1}));
}

TEST(HostPlan, OneForEachGatewayWhereverItsProcsStand) {
  EXPECT_THAT(planned({0, 0, 2, 2, 4}, 0, {0}), ElementsAre(H{0, 5, 0}));
  EXPECT_THAT(planned({0, 0, 2, 2, 4}, 0, {3}), ElementsAre(H{0, 5, 3}));
  EXPECT_THAT(planned({0, 0, 2, 2, 4}, 0, {0, 3}), ElementsAre(H{0, 3, 0}, H{3, 2, 0}));
  EXPECT_THAT(planned({0, 0, 2, 2, 4}, 0, {1, 2, 4}),
              ElementsAre(H{0, 2, 1}, H{2, 2, 0}, H{4, 1, 0}));
}

TEST(Gateways, AreNumbersAndRanges) {
  const auto parsed = [](const char* text, std::int32_t size = 20) {
    auto gateways = parse_gateways(text, size);
    EXPECT_TRUE(gateways.ok()) << text;
    return gateways ? *gateways : std::vector<std::int32_t>{};
  };
  EXPECT_THAT(parsed("0"), ElementsAre(0));
  EXPECT_THAT(parsed("0,8,16"), ElementsAre(0, 8, 16));
  EXPECT_THAT(parsed("0-3"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(parsed("8,1-2,2,19"), ElementsAre(1, 2, 8, 19));
  EXPECT_THAT(parsed("0", 1), ElementsAre(0));
}

TEST(Gateways, OthersAreRefusedByName) {
  for (const char* text : {"", ",", "0,", ",0", "a", "1a", "-1", "1-", "3-1", "1-2-3", " 0", "0 ",
                           "4", "0,4", "2-4", "+1", "0x1", "99999999999"}) {
    auto gateways = parse_gateways(text, 4);
    ASSERT_FALSE(gateways.ok()) << text;
    EXPECT_EQ(gateways.error().kind, ErrorKind::kConfiguration);
    EXPECT_THAT(gateways.error().text, HasSubstr(std::string("IMPISHIM_GATEWAY=") + text + ":"));
    EXPECT_THAT(gateways.error().text, HasSubstr("the ranks 0 to 3"));
  }
}

}  // namespace
}  // namespace impishim::wire
