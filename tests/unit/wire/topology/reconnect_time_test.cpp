// SPDX-License-Identifier: Apache-2.0
#include "wire/topology/reconnect_time.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "wire/packet/packet.hpp"
#include "wire/topology/host_size.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

using std::chrono::seconds;

HostId ipv4(std::uint8_t a, std::uint8_t d) {
  HostId address{};
  address[10] = address[11] = std::byte{0xff};
  address[12] = std::byte{a};
  address[15] = std::byte{d};
  return address;
}

/// Two systems of one host each, at these addresses.
JobMap job_at(const HostId& first, const HostId& second, bool impishim = true,
              std::vector<std::string> fabrics = {}) {
  std::vector<Host> hosts(2);
  hosts[0].address = first;
  hosts[1].address = second;
  for (Host& host : hosts) host.proc_count = 1;
  Client client;
  client.host_count = client.proc_count = 1;
  client.impishim = true;
  client.fabrics = std::move(fabrics);
  std::vector<Client> clients(2, client);
  clients[1].impishim = impishim;
  auto job = JobMap::create(clients, hosts, {{first, 1}, {second, 2}}, NegotiatedValues{});
  EXPECT_TRUE(job.ok());
  job->set_reconnect(kReconnectAuto);
  return std::move(job).value();
}

TEST(ReconnectTime, IsThatOfTheDefaultBetweenMachines) {
  const JobMap job = job_at(ipv4(10, 1), ipv4(10, 2));
  EXPECT_EQ(reconnect_time(job, 0, 1), seconds(60));
  EXPECT_EQ(reconnect_time(job, 1, 0), seconds(60));
}

TEST(ReconnectTime, IsNoneOnOneMachine) {
  EXPECT_EQ(reconnect_time(job_at(ipv4(10, 1), ipv4(10, 1)), 0, 1), seconds(0));
  EXPECT_EQ(reconnect_time(job_at(ipv4(127, 1), ipv4(127, 2)), 0, 1), seconds(0));
  HostId loopback{};
  loopback.back() = std::byte{1};
  EXPECT_EQ(reconnect_time(job_at(ipv4(127, 1), loopback), 0, 1), seconds(0));
}

TEST(ReconnectTime, IsWhatTheUsersSay) {
  JobMap job = job_at(ipv4(10, 1), ipv4(10, 1));
  job.set_reconnect(7);
  EXPECT_EQ(reconnect_time(job, 0, 1), seconds(7));
  job.set_reconnect(0);
  EXPECT_EQ(reconnect_time(job, 0, 1), seconds(0));
}

TEST(ReconnectTime, IsNoneForForeignSystems) {
  JobMap job = job_at(ipv4(10, 1), ipv4(10, 2), false);
  job.set_reconnect(7);
  EXPECT_EQ(reconnect_time(job, 0, 1), seconds(0));
}

TEST(ReconnectTime, IsNoneOverLibfabric) {
  JobMap job = job_at(ipv4(10, 1), ipv4(10, 2), true, {"tcp"});
  EXPECT_EQ(reconnect_time(job, 0, 1), seconds(0));
  job.set_encrypted(true);  // over sockets then
  EXPECT_EQ(reconnect_time(job, 0, 1), seconds(60));
}

TEST(Compression, IsWhatTheUsersSay) {
  JobMap job = job_at(ipv4(10, 1), ipv4(10, 1));
  EXPECT_FALSE(compresses_between(job, 0, 1));
  job.set_compressed(true);
  EXPECT_TRUE(compresses_between(job, 0, 1));
  EXPECT_TRUE(compresses_between(job, 1, 0));
}

TEST(Compression, IsForThisLibraryAndTcp) {
  JobMap foreign = job_at(ipv4(10, 1), ipv4(10, 2), false);
  foreign.set_compressed(true);
  EXPECT_FALSE(compresses_between(foreign, 0, 1));
  JobMap fabric = job_at(ipv4(10, 1), ipv4(10, 2), true, {"tcp"});
  fabric.set_compressed(true);
  EXPECT_FALSE(compresses_between(fabric, 0, 1));
  fabric.set_encrypted(true);  // over sockets then
  EXPECT_TRUE(compresses_between(fabric, 0, 1));
}

TEST(Streams, AreAsManyAsAsked) {
  JobMap job = job_at(ipv4(10, 1), ipv4(10, 2));
  EXPECT_EQ(streams_between(job, 0, 1), 1);
  job.set_streams(4);
  EXPECT_EQ(streams_between(job, 0, 1), 4);
  EXPECT_EQ(first_streams(job, 1, 0), 4);
}

TEST(Streams, AreOneWhereNothingIsTakenUpAgain) {
  JobMap job = job_at(ipv4(10, 1), ipv4(10, 1));
  job.set_streams(4);
  EXPECT_EQ(streams_between(job, 0, 1), 1);
  job.set_reconnect(5);
  EXPECT_EQ(streams_between(job, 0, 1), 4);
}

TEST(Streams, BeginWithOneForEachAddressOfTheAcceptor) {
  JobMap job = job_at(ipv4(10, 1), ipv4(10, 2));
  job.set_streams(kStreamsAuto);
  EXPECT_EQ(streams_between(job, 0, 1), kMostAutoStreams);
  EXPECT_EQ(first_streams(job, 0, 1), 1);
  job.set_more_addresses(1, {ipv4(11, 2)});
  EXPECT_EQ(first_streams(job, 0, 1), 1);
  job.set_more_addresses(0, {ipv4(11, 1), ipv4(12, 1)});
  EXPECT_EQ(first_streams(job, 0, 1), 3);
  EXPECT_EQ(first_streams(job, 1, 0), 3);
}

}  // namespace
}  // namespace impishim::wire
