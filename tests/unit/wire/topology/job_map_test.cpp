// SPDX-License-Identifier: Apache-2.0
// A job map from one process to the others of its system, and what is no job map.
#include "wire/topology/job_map.hpp"

#include <gmock/gmock.h>

#include "tests/unit/wire/startup/support.hpp"
#include "wire/topology/job_map_codec.hpp"

namespace impishim::wire {
namespace {

using testing::ElementsAre;

JobMap sample() {
  std::vector<JoinOptions> clients = {test::joining(0, {2}), test::joining(1, {1, 3})};
  clients[1].representation = 77;
  clients[1].traits = {.concurrent = true, .traces = true};
  clients[0].values.datalen = 512;
  clients[1].hosts[0].gateway = 0;
  clients[1].hosts[1].gateway = 2;
  return *negotiate(2, test::concatenate(clients));
}

TEST(JobMapCodec, EverythingComesThrough) {
  const JobMap map = sample();
  auto copy = decode_job_map(encode_job_map(map));
  ASSERT_TRUE(copy.ok()) << copy.error().text;
  EXPECT_EQ(encode_job_map(*copy), encode_job_map(map));
  EXPECT_EQ(copy->values().datalen, 512U);
  EXPECT_TRUE(copy->clients()[1].impishim);
  EXPECT_EQ(copy->clients()[1].representation, 77U);
  EXPECT_EQ(copy->clients()[1].traits, (ClientTraits{.concurrent = true, .traces = true}));
  EXPECT_EQ(copy->hosts()[2].first_proc, 3);
  EXPECT_EQ(copy->hosts()[2].port, 2001);
  EXPECT_EQ(copy->hosts()[0].gateway, -1);
  EXPECT_EQ(copy->hosts()[2].gateway, 2);
  EXPECT_EQ(copy->rank_of({test::address(21), 202}), 5);
}

TEST(JobMapCodec, ProvidersOfLibfabricComeThrough) {
  std::vector<JoinOptions> clients = {test::joining(0, {2}), test::joining(1, {1})};
  clients[0].fabrics = {"cxi", "tcp;ofi_rxm"};
  clients[1].fabrics = {"tcp;ofi_rxm"};
  clients[1].fabric_required = true;
  const JobMap map = *negotiate(2, test::concatenate(clients));
  const auto whole = encode_job_map(map);
  auto copy = decode_job_map(whole);
  ASSERT_TRUE(copy.ok()) << copy.error().text;
  EXPECT_EQ(encode_job_map(*copy), whole);
  EXPECT_EQ(copy->clients()[0].fabrics, clients[0].fabrics);
  EXPECT_FALSE(copy->clients()[0].fabric_required);
  EXPECT_EQ(copy->clients()[1].fabrics, clients[1].fabrics);
  EXPECT_TRUE(copy->clients()[1].fabric_required);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode_job_map(std::span(whole).first(size)).ok()) << size;
}

TEST(JobMapCodec, CutAnywhere) {
  const auto whole = encode_job_map(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    auto cut = decode_job_map(std::span(whole).first(size));
    ASSERT_FALSE(cut.ok()) << size;
    EXPECT_EQ(cut.error().kind, ErrorKind::kProtocol);
  }
}

TEST(JobMapCodec, CountsThatOverflow) {
  // host_count of client 1, proc_count of host 1: after 11 values, the bytes of encryption and
  // compression, 3 counts, clients of 28 bytes and hosts of 43.
  constexpr std::size_t kHostsOfSecondClient = 58 + 28;
  constexpr std::size_t kProcsOfSecondHost = 58 + 2 * 28 + 43 + 18;
  for (const std::size_t at : {kHostsOfSecondClient, kProcsOfSecondHost}) {
    auto bytes = encode_job_map(sample());
    store_big_endian(bytes.data() + at, std::int32_t{INT32_MAX});
    EXPECT_FALSE(decode_job_map(bytes).ok()) << at;
  }
}

TEST(JobMapCodec, EncryptionAndAddressesSurvive) {
  JobMap job = sample();
  HostId inner{};
  inner.back() = std::byte{7};
  job.set_encrypted(true);
  job.set_reconnect(20);
  job.set_streams(4);
  job.set_compressed(true);
  job.set_inner_address(1, inner);
  HostId more{};
  more.back() = std::byte{8};
  job.set_more_addresses(1, {more});
  auto decoded = decode_job_map(encode_job_map(job));
  ASSERT_TRUE(decoded.ok()) << decoded.error().text;
  EXPECT_TRUE(decoded->values().encrypted);
  EXPECT_EQ(decoded->values().reconnect, 20);
  EXPECT_EQ(decoded->values().streams, 4);
  EXPECT_TRUE(decoded->values().compressed);
  const Host& host = decoded->host(1);
  EXPECT_THAT(decoded->addresses_from(host.client, 1), ElementsAre(inner, more));
  EXPECT_THAT(decoded->addresses_from(host.client + 1, 1), ElementsAre(host.address, more));
  EXPECT_THAT(decoded->addresses_from(host.client, 0), ElementsAre(decoded->host(0).address));
  EXPECT_TRUE(has_address(host, host.address) && has_address(host, more));
  EXPECT_FALSE(has_address(host, inner));
  constexpr std::size_t kEncrypted = 11 * 4;
  auto bytes = encode_job_map(job);
  bytes[kEncrypted] = std::byte{2};
  EXPECT_FALSE(decode_job_map(bytes).ok());
}

TEST(JobMapCodec, NoLanes) {
  constexpr std::size_t kLanes = 8 * 4;  // behind the other values
  auto bytes = encode_job_map(sample());
  for (const std::int32_t lanes : {0, -1}) {
    store_big_endian(bytes.data() + kLanes, lanes);
    EXPECT_FALSE(decode_job_map(bytes).ok()) << lanes;
  }
  store_big_endian(bytes.data() + kLanes, std::int32_t{3});
  EXPECT_EQ(decode_job_map(bytes)->values().lanes, 3);
}

TEST(JobMapCodec, AGatewayOutsideItsHost) {
  // That of host 2, the last of three.
  constexpr std::size_t kGateway = 58 + 2 * 29 + 2 * 43 + 22;
  auto bytes = encode_job_map(sample());
  for (const std::int32_t gateway : {3, -2, INT32_MAX}) {
    store_big_endian(bytes.data() + kGateway, gateway);
    auto map = decode_job_map(bytes);
    ASSERT_FALSE(map.ok()) << gateway;
    EXPECT_NE(map.error().text.find("host 2 announced proc"), std::string::npos)
        << map.error().text;
  }
}

TEST(JobMap, CountsMustDescribeExactlyWhatIsThere) {
  const auto make = [](const std::vector<std::pair<int, int>>& clients,
                       const std::vector<int>& host_procs, int procs) {
    std::vector<Client> all_clients;
    for (const auto& [hosts, count] : clients) {
      Client client;
      client.host_count = hosts;
      client.proc_count = count;
      all_clients.push_back(client);
    }
    std::vector<Host> hosts(host_procs.size());
    for (std::size_t h = 0; h < hosts.size(); ++h) hosts[h].proc_count = host_procs[h];
    std::vector<ProcId> ids(static_cast<std::size_t>(procs));
    for (std::size_t p = 0; p < ids.size(); ++p) ids[p].pid = static_cast<std::int64_t>(p);
    return JobMap::create(all_clients, hosts, ids, {});
  };
  EXPECT_TRUE(make({{1, 2}, {2, 3}}, {2, 1, 2}, 5).ok());
  EXPECT_FALSE(make({{1, 2}, {2, 3}}, {2, 1, 2}, 6).ok());
  EXPECT_FALSE(make({{1, 2}, {2, 3}}, {2, 1, 3}, 5).ok());
  EXPECT_FALSE(make({{1, 2}, {2, 3}}, {3, 1, 1}, 5).ok());
  EXPECT_FALSE(make({{1, 2}, {2, 3}}, {2, 3, 0}, 5).ok());
  EXPECT_FALSE(make({{1, 2}, {1, 3}}, {2, 1, 2}, 5).ok());
  EXPECT_FALSE(make({{0, 0}, {3, 5}}, {2, 1, 2}, 5).ok());
  EXPECT_FALSE(make({{-1, 2}, {2, 3}}, {2, 1, 2}, 5).ok());
}

TEST(JobMap, ProcessesOfOtherJobsAreFoundByTheirLatestNumber) {
  const JobMap job = sample();
  const ProcId other{test::address(90), 7};
  const std::vector<Client> clients(1);
  const std::vector<AddedProc> added{{2, test::address(90), other, ""},
                                     {2, test::address(91), {test::address(91), 8}, ""},
                                     {2, test::address(90), other, ""}};
  const JobMap map = job.extended(clients, added);
  EXPECT_EQ(map.latest_rank_of(other), job.size() + 2);
  EXPECT_EQ(map.latest_rank_of({test::address(91), 8}), job.size() + 1);
  EXPECT_EQ(map.latest_rank_of({test::address(21), 202}), 5);
  EXPECT_EQ(map.latest_rank_of({test::address(92), 8}), -1);
  EXPECT_EQ(map.rank_of(other), -1);
}

}  // namespace
}  // namespace impishim::wire
