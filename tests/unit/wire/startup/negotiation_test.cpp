// SPDX-License-Identifier: Apache-2.0
// What the clients' values become for the job, which are refused, and with what words.
#include "wire/startup/negotiation.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>

#include "tests/unit/wire/startup/support.hpp"
#include "wire/channel/address.hpp"
#include "wire/connect/process_name.hpp"
#include "wire/topology/job_map_codec.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::bytes_of;
using test::number_of;
using testing::ElementsAre;
using testing::HasSubstr;

/// Three clients of 1, 2 and 1 hosts.
std::vector<JoinOptions> three() {
  return {test::joining(0, {2}), test::joining(1, {1, 3}), test::joining(2, {1})};
}

Result<JobMap> negotiated(const std::vector<JoinOptions>& clients) {
  return negotiate(static_cast<std::int32_t>(clients.size()), test::concatenate(clients));
}

/// The outcome when three clients have these values for a member of ClientValues.
template <class Value>
Result<JobMap> with(Value ClientValues::*member, const std::vector<Value>& values) {
  auto clients = three();
  for (std::size_t i = 0; i < clients.size(); ++i) clients[i].values.*member = values[i];
  return negotiated(clients);
}

void expect_refused(const Result<JobMap>& map, ErrorKind kind, const std::string& text) {
  ASSERT_FALSE(map.ok()) << text;
  EXPECT_EQ(map.error().kind, kind);
  EXPECT_THAT(map.error().text, HasSubstr(text));
}

TEST(Contributions, EveryMandatedLabelInAscendingOrder) {
  JoinOptions options = test::joining(0, {1, 2});
  options.representation = 0x1122334455667788;
  options.collectives = 0x99;
  options.traits = {.concurrent = true, .traces = true};
  const auto labels = contributions(options);
  std::vector<std::uint32_t> order;
  for (const auto& [label, data] : labels) order.push_back(label);
  EXPECT_THAT(order, ElementsAre(0x1000, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500, 0x1600, 0x2000,
                                 0x2100, 0x2200, 0x2300, 0x2400, 0x3000, 0x3100, 0x49530001));
  const std::map<std::uint32_t, Bytes> data(labels.begin(), labels.end());
  EXPECT_EQ(data.at(0x1000), bytes_of(0U, 0U));
  EXPECT_EQ(data.at(0x1100), bytes_of(2U));
  EXPECT_EQ(data.at(0x1200), bytes_of(3U));
  EXPECT_EQ(data.at(0x1300), bytes_of(65536U));
  EXPECT_EQ(data.at(0x1400), bytes_of(2147483647));
  EXPECT_EQ(data.at(0x1500), bytes_of(-1));
  EXPECT_EQ(data.at(0x1600), bytes_of(-1));
  // 10.0.0.10 and 10.0.0.11, each as twelve zero bytes and four.
  EXPECT_EQ(data.at(0x2000), bytes_of(0ULL, 0U, 0x0A00000AU, 0ULL, 0U, 0x0A00000BU));
  EXPECT_EQ(data.at(0x2100), bytes_of(1000U, 1001U));
  EXPECT_EQ(data.at(0x2200), bytes_of(1U, 2U));
  EXPECT_EQ(data.at(0x2300), bytes_of(10U, 10U));
  EXPECT_EQ(data.at(0x2400), bytes_of(20U, 20U));
  EXPECT_EQ(data.at(0x3000),
            bytes_of(0ULL, 0U, 0x0A00000AU, 0ULL, 0U, 0x0A00000BU, 0ULL, 0U, 0x0A00000BU));
  EXPECT_EQ(data.at(0x3100), bytes_of(std::int64_t{100}, std::int64_t{100}, std::int64_t{101}));
  EXPECT_EQ(test::as_text(std::span(data.at(0x49530001)).first(8)), "IMPISHIM");
  EXPECT_EQ(Bytes(data.at(0x49530001).begin() + 8, data.at(0x49530001).end()),
            bytes_of(17U, 0x1122334455667788ULL, 0x99ULL, 3U));
}

TEST(Negotiation, ProcsFollowHostsFollowClients) {
  auto map = negotiated(three());
  ASSERT_TRUE(map.ok()) << map.error().text;
  std::vector<std::int64_t> pids;
  std::vector<std::int32_t> hosts;
  std::vector<std::int32_t> clients;
  for (const Proc& proc : map->procs()) {
    pids.push_back(proc.id.pid);
    hosts.push_back(proc.host);
    clients.push_back(proc.client);
  }
  EXPECT_THAT(pids, ElementsAre(100, 101, 200, 200, 201, 202, 300));
  EXPECT_THAT(hosts, ElementsAre(0, 0, 1, 2, 2, 2, 3));
  EXPECT_THAT(clients, ElementsAre(0, 0, 1, 1, 1, 1, 2));
  EXPECT_EQ(map->hosts()[2].port, 2001);
  EXPECT_EQ(map->clients()[2].first_host, 3);
  EXPECT_EQ(map->clients()[2].first_proc, 6);
  EXPECT_EQ(map->rank_of({test::address(21), 202}), 5);
  EXPECT_EQ(map->rank_of({test::address(21), 203}), -1);
}

TEST(Negotiation, DefaultsOfTheSpecification) {
  const NegotiatedValues values = negotiated(three())->values();
  EXPECT_EQ(values.version_major, 0U);
  EXPECT_EQ(values.version_minor, 0U);
  EXPECT_EQ(values.datalen, 65536U);
  EXPECT_EQ(values.tag_ub, 2147483647);
  EXPECT_EQ(values.ackmark, 10U);
  EXPECT_EQ(values.hiwater, 20U);
  EXPECT_EQ(values.coll_xsize, 1024);
  EXPECT_EQ(values.coll_maxlinear, 4);
}

TEST(Negotiation, DataLenIsTheMinimum) {
  EXPECT_EQ(with<std::uint32_t>(&ClientValues::datalen, {70000, 4096, 65536})->values().datalen,
            4096U);
  EXPECT_EQ(with<std::uint32_t>(&ClientValues::datalen, {1, 4096, 65536})->values().datalen, 1U);
  EXPECT_EQ(with<std::uint32_t>(&ClientValues::datalen, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE})
                ->values()
                .datalen,
            0xFFFFFFFEU);
  expect_refused(with<std::uint32_t>(&ClientValues::datalen, {4096, 0, 4096}), ErrorKind::kProtocol,
                 "C_DATALEN: 0 bytes");
}

TEST(Negotiation, TagUbIsTheMinimumAboveTheLeastOfMpi) {
  EXPECT_EQ(
      with<std::int32_t>(&ClientValues::tag_ub, {2147483647, 268435455, 1000000})->values().tag_ub,
      1000000);
  EXPECT_EQ(with<std::int32_t>(&ClientValues::tag_ub, {32767, 32768, 40000})->values().tag_ub,
            32767);
  expect_refused(with<std::int32_t>(&ClientValues::tag_ub, {40000, 40000, 32766}),
                 ErrorKind::kProtocol, "C_TAGUB: 32766");
  expect_refused(with<std::int32_t>(&ClientValues::tag_ub, {40000, -1, 40000}),
                 ErrorKind::kProtocol, "C_TAGUB: -1");
}

TEST(Negotiation, CrossoverValuesMustBeEqualAfterDefaults) {
  struct Case {
    std::int32_t ClientValues::*member;
    std::int32_t NegotiatedValues::*result;
    std::int32_t fallback;
    const char* label;
    const char* variable;
  };
  for (const Case& each : {Case{&ClientValues::coll_xsize, &NegotiatedValues::coll_xsize, 1024,
                                "C_COLL_XSIZE", "IMPISHIM_COLL_XSIZE"},
                           Case{&ClientValues::coll_maxlinear, &NegotiatedValues::coll_maxlinear, 4,
                                "C_COLL_MAXLINEAR", "IMPISHIM_COLL_MAXLINEAR"}}) {
    const auto outcome = [&](const std::vector<std::int32_t>& values) {
      return with(each.member, values);
    };
    EXPECT_EQ(outcome({-1, -1, -1})->values().*each.result, each.fallback);
    EXPECT_EQ(outcome({-1, each.fallback, -1})->values().*each.result, each.fallback);
    EXPECT_EQ(outcome({0, 0, 0})->values().*each.result, 0);
    EXPECT_EQ(outcome({77, 77, 77})->values().*each.result, 77);
    EXPECT_EQ(outcome({INT32_MAX, INT32_MAX, INT32_MAX})->values().*each.result, INT32_MAX);
    expect_refused(outcome({-1, 77, -1}), ErrorKind::kConfiguration,
                   "give " + std::string(each.variable) + " the same value");
    expect_refused(outcome({77, 77, 78}), ErrorKind::kConfiguration,
                   "system 0 wants " + std::string(each.label) + " = 77, system 2 wants 78");
    expect_refused(outcome({-2, -2, -2}), ErrorKind::kProtocol, each.label);
  }
}

/// Ackmark and hiwater of the three clients.
Result<JobMap> with_marks(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& marks) {
  auto clients = three();
  for (std::size_t i = 0; i < clients.size(); ++i) {
    std::tie(clients[i].values.ackmark, clients[i].values.hiwater) = marks[i];
  }
  return negotiated(clients);
}

TEST(Negotiation, FlowControlIsOnePairForAll) {
  auto map = with_marks({{10, 20}, {5, 30}, {7, 16}});
  ASSERT_TRUE(map.ok()) << map.error().text;
  EXPECT_EQ(map->values().ackmark, 5U);
  EXPECT_EQ(map->values().hiwater, 16U);
  EXPECT_EQ(with_marks({{1, 1}, {1, 1}, {1, 1}})->values().hiwater, 1U);
  EXPECT_EQ(with_marks({{8, 8}, {8, 9}, {8, 10}})->values().ackmark, 8U);
  expect_refused(with_marks({{10, 20}, {0, 20}, {10, 20}}), ErrorKind::kProtocol,
                 "host 1 has ackmark 0 and hiwater 20");
  expect_refused(with_marks({{10, 20}, {10, 20}, {21, 20}}), ErrorKind::kProtocol,
                 "host 3 has ackmark 21 and hiwater 20");
  EXPECT_EQ(with_marks({{10, 100}, {1, 5}, {6, 100}})->values().hiwater, 5U);
}

TEST(Negotiation, HighestCommonVersion) {
  using Versions = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  const auto outcome = [](const std::vector<Versions>& versions) {
    auto clients = three();
    for (std::size_t i = 0; i < clients.size(); ++i) clients[i].values.versions = versions[i];
    return negotiated(clients);
  };
  const auto version = [&](const std::vector<Versions>& versions) {
    auto map = outcome(versions);
    EXPECT_TRUE(map.ok()) << map.error().text;
    return map ? std::pair(map->values().version_major, map->values().version_minor)
               : std::pair(99U, 99U);
  };
  EXPECT_EQ(version({{{0, 0}}, {{0, 0}}, {{0, 0}}}), std::pair(0U, 0U));
  EXPECT_EQ(version({{{0, 0}, {0, 1}, {1, 0}}, {{0, 0}, {1, 0}}, {{0, 0}, {0, 1}, {1, 0}, {2, 5}}}),
            std::pair(1U, 0U));
  EXPECT_EQ(version({{{0, 0}, {1, 0}}, {{0, 0}, {0, 1}}, {{0, 0}, {0, 1}, {1, 0}}}),
            std::pair(0U, 0U));
  EXPECT_EQ(version({{{0, 0}, {0, 7}}, {{0, 0}, {0, 7}, {0, 8}}, {{0, 0}, {0, 6}, {0, 7}}}),
            std::pair(0U, 7U));
  expect_refused(outcome({{{0, 0}}, {{0, 0}}, {}}), ErrorKind::kProtocol,
                 "2 version lists from 3 systems");
  expect_refused(outcome({{{0, 0}}, {{0, 0}}, {{0, 1}}}), ErrorKind::kProtocol, "C_VERSION");
}

TEST(Negotiation, ForeignClientsAreTold) {
  auto clients = three();
  for (std::size_t i = 0; i < clients.size(); ++i) {
    clients[i].representation = 1000 + i;
    clients[i].traits = {.concurrent = i == 2, .traces = i != 1};
  }
  auto labels = test::concatenate(clients);
  auto ours = labels.extract(number_of(StartupLabel::kImpishim)).mapped();
  EXPECT_FALSE(negotiate(3, labels)->clients()[0].impishim);
  // Client 1 is another implementation.
  ours.client_mask = 5;
  ours.data.erase(ours.data.begin() + 32, ours.data.begin() + 64);
  labels[number_of(StartupLabel::kImpishim)] = ours;
  auto map = negotiate(3, labels);
  ASSERT_TRUE(map.ok());
  EXPECT_TRUE(map->clients()[0].impishim);
  EXPECT_FALSE(map->clients()[1].impishim);
  EXPECT_TRUE(map->clients()[2].impishim);
  EXPECT_EQ(map->clients()[2].representation, 1002U);
  EXPECT_EQ(map->clients()[0].traits, (ClientTraits{.concurrent = false, .traces = true}));
  EXPECT_EQ(map->clients()[1].traits, (ClientTraits{.concurrent = false, .traces = false}));
  EXPECT_EQ(map->clients()[2].traits, (ClientTraits{.concurrent = true, .traces = true}));
}

TEST(Negotiation, ImpishimClientsMustChooseCollectivesAlike) {
  auto clients = three();
  for (auto& client : clients) client.collectives = 5;
  EXPECT_TRUE(negotiated(clients).ok());
  clients[2].collectives = 6;
  expect_refused(negotiated(clients), ErrorKind::kConfiguration,
                 "systems 0 and 2 choose collective algorithms differently: give "
                 "IMPISHIM_COLLECTIVES the same value");
}

TEST(Negotiation, SomebodyElsesUseOfOurLabelIsIgnored) {
  auto labels = test::concatenate(three());
  LabelData& own = labels[number_of(StartupLabel::kImpishim)];
  own.data = test::text_bytes("anything");
  EXPECT_FALSE(negotiate(3, labels)->clients()[0].impishim);
  own.data = test::text_bytes("NOTSHIM!" + std::string(24, '\0'));
  EXPECT_FALSE(negotiate(3, labels)->clients()[0].impishim);
}

/// Client 1 of three, with 2 hosts of 1 and 3 procs, has gateways.
std::vector<JoinOptions> three_with_gateways() {
  auto clients = three();
  clients[1].hosts[0].gateway = 0;
  clients[1].hosts[1].gateway = 2;
  return clients;
}

TEST(Negotiation, GatewaysOfThoseThatHaveThem) {
  auto plain = negotiated(three());
  ASSERT_TRUE(plain.ok());
  for (const Host& host : plain->hosts()) EXPECT_EQ(host.gateway, -1);
  auto map = negotiated(three_with_gateways());
  ASSERT_TRUE(map.ok()) << map.error().text;
  std::vector<std::int32_t> gateways;
  for (const Host& host : map->hosts()) gateways.push_back(host.gateway);
  EXPECT_THAT(gateways, ElementsAre(-1, 0, 2, -1));
  const auto labels = test::concatenate(three_with_gateways());
  EXPECT_EQ(labels.at(number_of(StartupLabel::kGateways)).client_mask, 2U);
  EXPECT_EQ(labels.at(number_of(StartupLabel::kGateways)).data, bytes_of(0U, 2U));
}

std::vector<JoinOptions> three_with_nodes() {
  auto clients = three_with_gateways();
  clients[1].hosts[0].node = "node17";
  clients[1].hosts[1].node = std::string(kMaxNodeName + 10, 'n');
  return clients;
}

TEST(Negotiation, NodesOfThoseThatNameThem) {
  EXPECT_EQ(negotiated(three())->node_name(0), "");
  auto map = negotiated(three_with_nodes());
  ASSERT_TRUE(map.ok()) << map.error().text;
  EXPECT_EQ(map->node_name(0), "");
  EXPECT_EQ(map->node_name(1), "node17");
  EXPECT_EQ(map->node_name(2), std::string(kMaxNodeName, 'n'));
  auto copy = decode_job_map(encode_job_map(*map));
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->node_names(), map->node_names());
}

TEST(Negotiation, NodeNamesThatAreCutOrCouldMoveACursor) {
  const auto outcome = [](const Bytes& data) {
    auto labels = test::concatenate(three_with_nodes());
    labels[number_of(StartupLabel::kNodeNames)] = {2, data};
    return negotiate(3, labels);
  };
  const auto map =
      outcome(bytes_of(std::uint8_t{2}, std::uint8_t{0x1b}, std::uint8_t{'c'}, std::uint8_t{0}));
  ASSERT_TRUE(map.ok()) << map.error().text;
  EXPECT_EQ(map->node_name(1), "\\x1bc");
  expect_refused(outcome(bytes_of(std::uint8_t{2}, std::uint8_t{'c'})), ErrorKind::kProtocol,
                 "host 1 of system 1 has none");
  expect_refused(outcome(bytes_of(std::uint8_t{0})), ErrorKind::kProtocol,
                 "host 2 of system 1 has none");
  expect_refused(outcome(bytes_of(std::uint8_t{0}, std::uint8_t{0}, std::uint8_t{0})),
                 ErrorKind::kProtocol, "more than hosts");
}

TEST(Negotiation, FurtherAddressesOfHosts) {
  std::vector<JoinOptions> clients = three();
  clients[1].hosts[1].more_addresses = {test::address(77), test::address(78)};
  const auto map = negotiated(clients);
  ASSERT_TRUE(map.ok()) << map.error().text;
  EXPECT_THAT(map->host(0).more_addresses, testing::IsEmpty());
  EXPECT_THAT(map->host(1).more_addresses, testing::IsEmpty());
  EXPECT_EQ(map->host(2).more_addresses, clients[1].hosts[1].more_addresses);
  const auto outcome = [&](std::uint32_t mask, const Bytes& data) {
    auto labels = test::concatenate(clients);
    labels[number_of(StartupLabel::kMoreAddresses)] = {mask, data};
    return negotiate(3, labels);
  };
  EXPECT_TRUE(outcome(2, Bytes(2)).ok());
  expect_refused(outcome(2, Bytes(1)), ErrorKind::kProtocol,
                 "host 2 of system 1 has an impossible list");
  expect_refused(outcome(2, Bytes(3)), ErrorKind::kProtocol, "more than hosts");
  for (const std::uint8_t count : {1, 8, 255}) {
    Bytes data = bytes_of(count);
    data.resize(data.size() + (count == 1 ? 15U : count * 16U));
    expect_refused(outcome(2, data), ErrorKind::kProtocol,
                   "host 1 of system 1 has an impossible list");
  }
}

TEST(ProcessName, SaysRankPidAndNode) {
  const auto map = negotiated(three_with_nodes());
  ASSERT_TRUE(map.ok());
  const Host& named = map->hosts()[1];
  const std::int64_t pid = map->procs()[static_cast<std::size_t>(named.first_proc)].id.pid;
  EXPECT_EQ(process_name(*map, named.first_proc),
            fmt::format("rank {} (pid {} on node17)", named.first_proc, pid));
  const Proc& nameless = map->procs()[0];
  EXPECT_EQ(process_name(*map, 0),
            fmt::format("rank 0 (pid {} on {})", nameless.id.pid, address_text(nameless.id.host)));
}

TEST(Negotiation, GatewaysMustBeAmongTheirHostsProcs) {
  const auto outcome = [](std::uint32_t mask, const Bytes& data) {
    auto labels = test::concatenate(three_with_gateways());
    labels[number_of(StartupLabel::kGateways)] = {mask, data};
    return negotiate(3, labels);
  };
  EXPECT_TRUE(outcome(2, bytes_of(0U, 1U)).ok());
  EXPECT_TRUE(outcome(7, bytes_of(1U, 0U, 1U, 0U)).ok());
  expect_refused(outcome(2, bytes_of(1U, 2U)), ErrorKind::kProtocol,
                 "gateways: host 1 of system 1 has none among its procs");
  expect_refused(outcome(2, bytes_of(0U, 0xFFFFFFFFU)), ErrorKind::kProtocol, "host 2 of system 1");
  expect_refused(outcome(2, bytes_of(0U)), ErrorKind::kProtocol, "host 2 of system 1");
  expect_refused(outcome(2, bytes_of(0U, 2U, 0U)), ErrorKind::kProtocol, "more than hosts");
  auto labels = test::concatenate(three_with_gateways());
  labels.erase(number_of(StartupLabel::kImpishim));
  expect_refused(negotiate(3, labels), ErrorKind::kProtocol,
                 "system 1 announces them, but is no impishim");
}

TEST(Negotiation, AnotherVersionOfOursIsRefused) {
  auto labels = test::concatenate(three());
  LabelData& own = labels[number_of(StartupLabel::kImpishim)];
  constexpr std::size_t kOfEachClient = 32;
  constexpr std::size_t kVersionAt = 8;
  store_big_endian(own.data.data() + kOfEachClient + kVersionAt, std::uint32_t{2});
  const auto map = negotiate(3, labels);
  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.error().kind, ErrorKind::kConfiguration);
  EXPECT_THAT(
      map.error().text,
      testing::HasSubstr("system 1 runs version 2 of impishim's own protocol, this library 17"));
}

TEST(Negotiation, EveryMandatedLabelIsNeededFromEveryClient) {
  for (const auto& [label, name] :
       std::map<StartupLabel, std::string>{{StartupLabel::kVersion, "C_VERSION"},
                                           {StartupLabel::kNHosts, "C_NHOSTS"},
                                           {StartupLabel::kNProcs, "C_NPROCS"},
                                           {StartupLabel::kDataLen, "C_DATALEN"},
                                           {StartupLabel::kTagUb, "C_TAGUB"},
                                           {StartupLabel::kCollXSize, "C_COLL_XSIZE"},
                                           {StartupLabel::kCollMaxLinear, "C_COLL_MAXLINEAR"},
                                           {StartupLabel::kHostIpv6, "H_IPV6"},
                                           {StartupLabel::kHostPort, "H_PORT"},
                                           {StartupLabel::kHostNProcs, "H_NPROCS"},
                                           {StartupLabel::kHostAckMark, "H_ACKMARK"},
                                           {StartupLabel::kHostHiWater, "H_HIWATER"},
                                           {StartupLabel::kProcIpv6, "P_IPV6"},
                                           {StartupLabel::kProcPid, "P_PID"}}) {
    const auto sound = test::concatenate(three());
    auto labels = sound;
    labels.erase(number_of(label));
    expect_refused(negotiate(3, labels), ErrorKind::kProtocol, name);
    labels = sound;
    labels[number_of(label)].client_mask = 3;
    expect_refused(negotiate(3, labels), ErrorKind::kProtocol, name);
    labels = sound;
    labels[number_of(label)].data.pop_back();
    expect_refused(negotiate(3, labels), ErrorKind::kProtocol, name);
    labels = sound;
    labels[number_of(label)].data.resize(labels[number_of(label)].data.size() + 16);
    EXPECT_FALSE(negotiate(3, labels).ok()) << name;
  }
}

TEST(Negotiation, CountsThatDoNotAddUp) {
  const auto outcome = [](StartupLabel label, const Bytes& data) {
    auto labels = test::concatenate(three());
    labels[number_of(label)].data = data;
    return negotiate(3, labels);
  };
  EXPECT_TRUE(outcome(StartupLabel::kNHosts, bytes_of(1U, 2U, 1U)).ok());
  for (const Bytes& hosts :
       {bytes_of(0U, 3U, 1U), bytes_of(2U, 1U, 1U), bytes_of(1U, 2U, 2U),
        bytes_of(0xFFFFFFFFU, 4U, 1U), bytes_of(0xFFFFFFFFU, 0xFFFFFFFFU, 0xFFFFFFFFU)}) {
    EXPECT_FALSE(outcome(StartupLabel::kNHosts, hosts).ok());
  }
  for (const Bytes& procs : {bytes_of(0U, 6U, 1U), bytes_of(3U, 3U, 1U), bytes_of(2U, 4U, 2U),
                             bytes_of(0xFFFFFFFFU, 8U, 0U)}) {
    EXPECT_FALSE(outcome(StartupLabel::kNProcs, procs).ok());
  }
  for (const Bytes& procs :
       {bytes_of(1U, 2U, 3U, 1U), bytes_of(2U, 1U, 4U, 0U), bytes_of(2U, 1U, 3U, 0x80000000U),
        bytes_of(2U, 0xFFFFFFFFU, 3U, 1U)}) {
    EXPECT_FALSE(outcome(StartupLabel::kHostNProcs, procs).ok());
  }
  expect_refused(outcome(StartupLabel::kHostPort, bytes_of(1U, 2U, 65536U, 3U)),
                 ErrorKind::kProtocol, "65536 is no port");
}

TEST(Negotiation, TwoProcsOfOneName) {
  auto clients = three();
  clients[2].hosts[0].procs[0] = clients[0].hosts[0].procs[1];
  expect_refused(negotiated(clients), ErrorKind::kProtocol, "share one address and pid 101");
}

TEST(Negotiation, FullMaskOf32Clients) {
  std::vector<JoinOptions> clients;
  for (int client = 0; client < 32; ++client) clients.push_back(test::joining(client % 24, {1}));
  for (int client = 24; client < 32; ++client)
    clients[static_cast<std::size_t>(client)].hosts[0].procs[0].pid += 5000;
  auto map = negotiated(clients);
  ASSERT_TRUE(map.ok()) << map.error().text;
  EXPECT_EQ(map->clients().size(), 32U);
}

}  // namespace
}  // namespace impishim::wire
