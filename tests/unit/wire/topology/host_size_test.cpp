// SPDX-License-Identifier: Apache-2.0
// How many procs a host has: by the size of the job, as the systems want it, and what is refused.
#include "wire/topology/host_size.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace impishim::wire {
namespace {

using testing::HasSubstr;

std::vector<SystemSize> systems_of(const std::vector<std::int32_t>& procs) {
  std::vector<SystemSize> systems;
  for (const std::int32_t each : procs) {
    SystemSize& added = systems.emplace_back();
    added.client = static_cast<std::int32_t>(systems.size()) - 1;
    added.procs = each;
  }
  return systems;
}

std::int32_t chosen(const std::vector<SystemSize>& systems) {
  const auto procs = choose_host_procs(systems, static_cast<std::int32_t>(systems.size()));
  return procs ? *procs : -2;
}

std::string refused(const std::vector<SystemSize>& systems) {
  const auto procs = choose_host_procs(systems, static_cast<std::int32_t>(systems.size()));
  return procs ? std::string() : procs.error().text;
}

TEST(HostSize, TheSmallestWithoutTooManyChannels) {
  EXPECT_EQ(chosen(systems_of({1})), 1);
  EXPECT_EQ(chosen(systems_of({2, 2})), 1);
  EXPECT_EQ(chosen(systems_of({64, 64})), 1);
  EXPECT_EQ(chosen(systems_of({65, 64})), 2);
  EXPECT_EQ(chosen(systems_of({1024, 1024})), 4);
  EXPECT_EQ(chosen(systems_of({1024, 1025})), 5);
  EXPECT_EQ(chosen(systems_of({160000, 160000})), 50);
}

TEST(HostSize, TheSmallestSystemHasTheMostRemoteProcs) {
  EXPECT_EQ(chosen(systems_of({1, 64})), 1);
  EXPECT_EQ(chosen(systems_of({1, 65})), 2);
  EXPECT_EQ(chosen(systems_of({1, 32, 33})), 2);
}

TEST(HostSize, AsTheSystemsWantIt) {
  auto systems = systems_of({100, 100});
  for (SystemSize& each : systems) each.host_procs = kHostProcsNode;
  EXPECT_EQ(chosen(systems), kHostProcsNode);
  for (SystemSize& each : systems) each.host_procs = 7;
  EXPECT_EQ(chosen(systems), 7);
  systems = systems_of({100, 100});
  for (SystemSize& each : systems) each.max_channels = 4;
  EXPECT_EQ(chosen(systems), 5);
}

TEST(HostSize, LanesTakeChannels) {
  auto systems = systems_of({1024, 1024});
  for (SystemSize& each : systems) each.lanes = 4;
  EXPECT_EQ(chosen(systems), 8);
  for (SystemSize& each : systems) each.lanes = 100;  // a host of 16 has at most 16 lanes
  EXPECT_EQ(chosen(systems), 16);
  systems[1].lanes = 2;
  EXPECT_THAT(refused(systems), HasSubstr("IMPISHIM_LANES is 100 in system 0 and 2 in system 1"));
}

TEST(HostSize, AllSystemsEncryptAlike) {
  auto systems = systems_of({2, 2});
  systems[1].encrypted = true;
  systems[0].has_gateways = true;
  EXPECT_THAT(refused(systems),
              HasSubstr("IMPISHIM_TLS is off in system 0 and in use in system 1"));
}

TEST(HostSize, AllSystemsReconnectAlike) {
  auto systems = systems_of({2, 2});
  systems[1].reconnect = 20;
  EXPECT_THAT(refused(systems),
              HasSubstr("IMPISHIM_RECONNECT is not set in system 0 and 20 in system 1"));
}

TEST(HostSize, AllSystemsHaveTheSameStreams) {
  auto systems = systems_of({2, 2});
  systems[1].streams = 4;
  EXPECT_THAT(refused(systems), HasSubstr("IMPISHIM_STREAMS is 1 in system 0 and 4 in system 1"));
  systems[0].streams = kStreamsAuto;
  EXPECT_THAT(refused(systems), HasSubstr("IMPISHIM_STREAMS is auto in system 0"));
}

TEST(HostSize, AllSystemsCompressAlike) {
  auto systems = systems_of({2, 2});
  systems[1].compressed = true;
  EXPECT_THAT(refused(systems),
              HasSubstr("IMPISHIM_COMPRESSION is off in system 0 and zstd in system 1"));
}

TEST(HostSize, CompressionIsOffOrZstd) {
  EXPECT_EQ(parse_compression("zstd"), true);
  EXPECT_EQ(parse_compression("off"), false);
  for (const char* text : {"", "on", "ZSTD", "zstd ", "lz4"}) EXPECT_FALSE(parse_compression(text));
}

TEST(HostSize, StreamsAreANumberOrAuto) {
  EXPECT_EQ(parse_streams("auto"), kStreamsAuto);
  EXPECT_EQ(parse_streams("1"), 1);
  EXPECT_EQ(parse_streams("16"), 16);
  for (const char* text : {"", "0", "-1", "17", "two", "4 "}) EXPECT_FALSE(parse_streams(text));
}

TEST(HostSize, WholeNodesWithGatewaysAndForeignClients) {
  auto systems = systems_of({2, 2});
  systems[1].has_gateways = true;
  EXPECT_EQ(chosen(systems), kHostProcsNode);
  EXPECT_EQ(*choose_host_procs(systems_of({2, 2}), 3), kHostProcsNode);
  EXPECT_EQ(*choose_host_procs({}, 2), kHostProcsNode);
  systems[0].host_procs = 3;
  EXPECT_EQ(chosen(systems), 3);
}

TEST(HostSize, DifferentSettingsAreRefused) {
  auto systems = systems_of({2, 2, 2});
  systems[2].host_procs = kHostProcsNode;
  EXPECT_THAT(refused(systems),
              HasSubstr("IMPISHIM_HOST_PROCS is auto in system 0 and node in system 2"));
  systems[2].host_procs = 3;
  EXPECT_THAT(refused(systems), HasSubstr("auto in system 0 and 3 in system 2"));
  systems = systems_of({2, 2});
  systems[1].max_channels = 8;
  EXPECT_THAT(refused(systems),
              HasSubstr("IMPISHIM_MAX_CHANNELS is 64 in system 0 and 8 in system 1"));
}

}  // namespace
}  // namespace impishim::wire
