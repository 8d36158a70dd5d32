// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/host_mesh.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <future>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/connect/open_hosts.hpp"

namespace impishim::wire {
namespace {

using test::connect_all;
using test::ConnectedHosts;
using test::expect_joined;
using test::Floor;
using test::host_id;
using test::job_of;
using test::kLongMs;
using test::receive_all;
using test::say_rank;
using test::Systems;
using test::was_turned_away;
using testing::HasSubstr;

class DanceOfHosts : public testing::TestWithParam<std::vector<std::string>> {};

INSTANTIATE_TEST_SUITE_P(
    Addresses, DanceOfHosts,
    testing::Values(
        std::vector<std::string>{"127.0.0.1"}, std::vector<std::string>{"127.0.0.1", "127.0.0.1"},
        std::vector<std::string>{"127.0.0.1", "127.0.0.1", "127.0.0.1"},
        std::vector<std::string>{"127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1"},
        std::vector<std::string>{"127.0.0.2", "127.0.0.3", "127.0.0.4"},
        std::vector<std::string>{"127.0.0.6", "127.0.0.5", "127.0.0.4", "127.0.0.3", "127.0.0.2"},
        std::vector<std::string>{"::1", "::1", "::1"}),
    [](const auto& info) { return fmt::format("{}of{}", info.param.size(), info.index); });

TEST_P(DanceOfHosts, JoinsAllWithAll) {
  Floor floor(GetParam());
  testing::internal::CaptureStderr();
  auto connected = connect_all(floor);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  expect_joined(connected);
}

TEST_P(DanceOfHosts, JoinsForeignSystemsWithAWarningEach) {
  Floor floor(GetParam(), Systems::kForeign);
  testing::internal::CaptureStderr();
  auto connected = connect_all(floor);
  const std::string log = testing::internal::GetCapturedStderr();
  expect_joined(connected);
  const auto hosts = floor.size();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), hosts > 1 ? hosts : 0) << log;
  EXPECT_EQ(log.find("of another IMPI implementation") != std::string::npos, hosts > 1);
}

/// The sockets of one host by the other host and the lane.
using Lanes = std::map<std::pair<std::int32_t, std::int32_t>, Descriptor>;

Lanes lanes_of(Floor& floor, std::int32_t host) {
  Lanes lanes;
  const auto take = [&](std::int32_t other, std::int32_t lane, Descriptor socket) {
    EXPECT_TRUE(lanes.emplace(std::pair(other, lane), std::move(socket)).second);
    return Result<void>();
  };
  DanceOptions options = floor.options;
  options.timeout_ms = kLongMs;
  const HostListener listener = std::move(floor.listeners[static_cast<std::size_t>(host)]);
  auto connected = connect_hosts(floor.job, host, listener, options, take);
  EXPECT_TRUE(connected.ok());
  return lanes;
}

/// Each end says its host and lane, and hears those of the other.
TEST(HostMesh, JoinsEachLaneOnce) {
  constexpr std::int32_t kLanes = 3;
  Floor floor({"127.0.0.1", "127.0.0.1", "127.0.0.1"}, Systems::kOurs, 4);
  floor.job.set_lanes(kLanes);
  std::vector<std::future<Lanes>> started;
  for (std::int32_t host = 0; host < floor.size(); ++host)
    started.push_back(
        std::async(std::launch::async, [&floor, host] { return lanes_of(floor, host); }));
  std::vector<Lanes> hosts;
  for (auto& each : started) hosts.push_back(each.get());
  const auto word = [](std::int32_t host, std::int32_t lane) { return host * 10 + lane; };
  for (std::int32_t host = 0; host < floor.size(); ++host) {
    const Lanes& lanes = hosts[static_cast<std::size_t>(host)];
    ASSERT_EQ(lanes.size(), 2U * kLanes);
    for (const auto& [end, socket] : lanes) {
      const std::int32_t mine = word(host, end.second);
      ASSERT_EQ(send(socket.get(), &mine, sizeof(mine), 0), ssize_t{sizeof(mine)});
    }
  }
  for (std::int32_t host = 0; host < floor.size(); ++host) {
    for (const auto& [end, socket] : hosts[static_cast<std::size_t>(host)]) {
      std::int32_t theirs = -1;
      pollfd ready{socket.get(), POLLIN, 0};
      ASSERT_EQ(poll(&ready, 1, kLongMs), 1);
      ASSERT_EQ(recv(socket.get(), &theirs, sizeof(theirs), 0), ssize_t{sizeof(theirs)});
      EXPECT_EQ(theirs, word(end.first, end.second));
    }
  }
}

TEST(HostMesh, TakesBothFormsOfAnIpv4Address) {
  Floor floor({"127.0.0.1", "127.0.0.2"});
  std::vector<HostId> addresses = floor.addresses;
  for (HostId& address : addresses) address[10] = address[11] = std::byte{0xff};
  floor.job = job_of(addresses, {floor.listeners[0].port(), floor.listeners[1].port()});
  auto connected = connect_all(floor);
  expect_joined(connected);
}

/// What a stranger does, and what the log says of it.
struct Intrusion {
  std::string name;
  std::string from;
  std::string says;
  std::string reason;
};

class DanceWithStranger : public testing::TestWithParam<Intrusion> {};

std::string number(std::int32_t value) {
  std::string bytes(4, '\0');
  store_big_endian(reinterpret_cast<std::byte*>(bytes.data()), value);
  return bytes;
}

INSTANTIATE_TEST_SUITE_P(
    Intrusions, DanceWithStranger,
    testing::Values(Intrusion{"WrongAddress", "127.0.0.9", number(1),
                              "it claims to be host 1 (system 1, 127.0.0.2 port"},
                    Intrusion{"OtherHostsAddress", "127.0.0.3", number(1),
                              "it claims to be host 1 (system 1, 127.0.0.2 port"},
                    Intrusion{"OwnNumber", "127.0.0.2", number(0),
                              "it claims to be host 0, which does not connect here"},
                    Intrusion{"OneTooMany", "127.0.0.2", number(3),
                              "it claims to be host 3, which does not connect here"},
                    Intrusion{"Negative", "127.0.0.2", number(-1),
                              "it claims to be host -1, which does not connect here"},
                    Intrusion{"Http", "127.0.0.9", "GET / HTTP/1.1\r\n\r\n",
                              "which does not connect here"},
                    Intrusion{"Half", "127.0.0.9", "ab", "it closed the connection"},
                    Intrusion{"Nothing", "127.0.0.9", "", "it closed the connection"}),
    [](const auto& info) { return info.param.name; });

TEST_P(DanceWithStranger, TurnsItAwayAndJoinsAllTheSame) {
  const Intrusion& intrusion = GetParam();
  Floor floor({"127.0.0.1", "127.0.0.2", "127.0.0.3"}, Systems::kForeign);
  const Descriptor stranger = floor.stranger(intrusion.from);
  const auto size = static_cast<ssize_t>(intrusion.says.size());
  ASSERT_EQ(send(stranger.get(), intrusion.says.data(), intrusion.says.size(), MSG_NOSIGNAL), size);
  // Less than a number, and nothing more to come.
  ASSERT_TRUE(size >= 4 || shutdown(stranger.get(), SHUT_WR) == 0);
  testing::internal::CaptureStderr();
  auto connected = connect_all(floor);
  const std::string log = testing::internal::GetCapturedStderr();
  expect_joined(connected);
  EXPECT_TRUE(was_turned_away(stranger));
  EXPECT_THAT(log, HasSubstr("turned away a connection from " + intrusion.from + " port"));
  EXPECT_THAT(log, HasSubstr(intrusion.reason));
}

TEST(HostMesh, IsNotDelayedBySilence) {
  Floor floor({"127.0.0.1", "127.0.0.2"});
  std::vector<Descriptor> silent;
  for (int i = 0; i < 50; ++i)
    silent.push_back(floor.stranger(i % 2 == 0 ? "127.0.0.9" : "127.0.0.2"));
  // Half a number is no more than silence.
  ASSERT_EQ(send(silent.front().get(), "\0\0", 2, MSG_NOSIGNAL), 2);
  const auto begin = std::chrono::steady_clock::now();
  testing::internal::CaptureStderr();
  auto connected = connect_all(floor);
  testing::internal::GetCapturedStderr();
  // Far below the time that a connection has to introduce itself.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  expect_joined(connected);
  for (const Descriptor& each : silent) EXPECT_TRUE(was_turned_away(each));
}

/// Hosts 1 and 2 are played by hand, to have the order in hand.
TEST(HostMesh, KeepsTheFirstOfTwoForeignOnesThatClaimOneNumber) {
  Floor floor({"127.0.0.1", "127.0.0.2", "127.0.0.3"}, Systems::kForeign);
  const Descriptor first = floor.stranger("127.0.0.2");
  say_rank(first, 1);
  const Descriptor second = floor.stranger("127.0.0.2");
  say_rank(second, 1);
  testing::internal::CaptureStderr();
  auto running = floor.start(0);
  EXPECT_TRUE(was_turned_away(second));
  const Descriptor last = floor.stranger("127.0.0.3");
  say_rank(last, 2);
  ConnectedHosts connected = running.get();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("host 1 is connected already"));
  ASSERT_TRUE(connected.ok()) << connected.error().text;
  ASSERT_EQ(connected->size(), 2U);
  ASSERT_EQ(send(first.get(), "x", 1, MSG_NOSIGNAL), 1);
  std::array<std::byte, 1> got{};
  EXPECT_TRUE(receive_all(*(*connected)[0].channel, got).ok());
  EXPECT_EQ(got[0], std::byte{'x'});
}

/// The number may come in pieces, and what follows it at once belongs to the channel.
TEST(HostMesh, ReadsTheNumberAndNoMore) {
  Floor floor({"127.0.0.1", "127.0.0.2"}, Systems::kForeign);
  const Descriptor host = floor.stranger("127.0.0.2");
  ASSERT_EQ(send(host.get(), "\0\0", 2, MSG_NOSIGNAL), 2);
  auto running = floor.start(0);
  ASSERT_EQ(send(host.get(), "\0\1packet", 8, MSG_NOSIGNAL), 8);
  ConnectedHosts connected = running.get();
  ASSERT_TRUE(connected.ok()) << connected.error().text;
  std::array<std::byte, 6> got{};
  ASSERT_TRUE(receive_all(*connected->front().channel, got).ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(got.data()), got.size()), "packet");
}

TEST(HostMesh, ConnectsFromTheAdvertisedAddressAndSaysItsNumber) {
  const auto [listener, port] = test::bound_socket(host_id("127.0.0.7"), true);
  Floor floor({"127.0.0.1", "127.0.0.2"}, Systems::kForeign);
  floor.job = job_of({host_id("127.0.0.7"), host_id("127.0.0.2")},
                     {port, floor.listeners[1].port()}, Systems::kForeign);
  auto running = floor.start(1);
  SocketAddress from;
  const Descriptor accepted(accept4(listener.get(), from.get(), &from.size, SOCK_CLOEXEC));
  std::array<std::byte, 4> rank{};
  ASSERT_EQ(recv(accepted.get(), rank.data(), rank.size(), MSG_WAITALL), 4);
  EXPECT_EQ(load_big_endian<std::int32_t>(rank.data()), 1);
  EXPECT_EQ(address_text(from.host()), "127.0.0.2");
  EXPECT_TRUE(running.get().ok());
}

TEST(HostMesh, TriesAgainWhileAConnectionIsRefused) {
  const auto [late, port] = test::bound_socket(host_id("127.0.0.7"), false);
  Floor floor({"127.0.0.1", "127.0.0.2"}, Systems::kForeign);
  floor.job = job_of({host_id("127.0.0.7"), host_id("127.0.0.2")},
                     {port, floor.listeners[1].port()}, Systems::kForeign);
  auto running = floor.start(1);
  // Nothing tells when the first attempts have been refused; if there were none, the test is only
  // weaker.
  EXPECT_EQ(running.wait_for(std::chrono::milliseconds(150)), std::future_status::timeout);
  ASSERT_EQ(listen(late.get(), 1), 0);
  EXPECT_TRUE(running.get().ok());
}

TEST(HostMesh, NamesTheMissingWhenTimeIsOver) {
  const auto [closed, port] = test::bound_socket(host_id("127.0.0.7"), false);
  Floor floor({"127.0.0.1", "127.0.0.2", "127.0.0.3"});
  floor.job = job_of({host_id("127.0.0.7"), host_id("127.0.0.2"), host_id("127.0.0.3")},
                     {port, floor.listeners[1].port(), 4711});
  const auto begin = std::chrono::steady_clock::now();
  ConnectedHosts connected = floor.start(1, 200).get();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  ASSERT_FALSE(connected.ok());
  EXPECT_EQ(connected.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(
      connected.error().text,
      HasSubstr(fmt::format("host 0 (system 0, 127.0.0.7 port {}): Connection refused", port)));
  EXPECT_THAT(connected.error().text, HasSubstr("host 2 (system 2, 127.0.0.3 port 4711)"));
}

TEST(HostMesh, EndsAtOnceWhenTheJobIsGivenUp) {
  Floor floor({"127.0.0.1", "127.0.0.2"});
  std::array<int, 2> news{};
  ASSERT_EQ(pipe(news.data()), 0);
  const Descriptor read(news[0]);
  const Descriptor write(news[1]);
  floor.options.watched = read.get();
  floor.options.given_up = [&]() -> std::optional<Error> {
    pollfd ready{read.get(), POLLIN, 0};
    if (poll(&ready, 1, 0) == 0) return std::nullopt;
    return Error{ErrorKind::kConnection, "system 1 was lost"};
  };
  auto waiting = floor.start(0);  // host 1 never comes
  const char word = 0;
  ASSERT_EQ(::write(write.get(), &word, 1), 1);
  ASSERT_EQ(waiting.wait_for(std::chrono::milliseconds(kLongMs / 2)), std::future_status::ready);
  ConnectedHosts connected = waiting.get();
  ASSERT_FALSE(connected.ok());
  EXPECT_EQ(connected.error().text, "system 1 was lost");
}

TEST(HostListener, TakesTheFirstFreePortOfItsRange) {
  const HostId here = host_id("127.0.0.8");
  // Ports of the kernel's choice that are free now.
  const std::uint16_t first = HostListener::open(here)->port();
  const PortRange two{first, static_cast<std::uint16_t>(first + 1)};
  auto one = HostListener::open(here, two);
  auto other = HostListener::open(here, two);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(one->port(), first);
  EXPECT_EQ(other->port(), first + 1);
  auto none = HostListener::open(here, two);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().text, HasSubstr("IMPISHIM_HOST_PROCS=node"));
}

TEST(HostListener, ListensAtAllItsAddressesAtOnePort) {
  const std::vector<HostId> addresses{host_id("127.0.0.8"), host_id("127.0.0.9"), host_id("::1")};
  const auto listener = HostListener::open(addresses);
  ASSERT_TRUE(listener.ok()) << listener.error().text;
  EXPECT_EQ(listener->address(), addresses.front());
  ASSERT_EQ(listener->sockets().size(), 3U);
  for (const HostId& each : addresses)
    EXPECT_TRUE(test::connect_by_hand(each, each, listener->port()).valid()) << address_text(each);
  const auto foreign = HostListener::open({host_id("127.0.0.8"), host_id("192.0.2.1")});
  ASSERT_FALSE(foreign.ok());
  EXPECT_THAT(foreign.error().text, HasSubstr("cannot listen on 192.0.2.1"));
}

TEST(HostMesh, TriesTheAddressesOfAHostInTurn) {
  Floor floor({"127.0.0.2", "127.0.0.3"});
  // Nothing listens at the first address of either.
  std::vector<std::uint16_t> ports;
  for (const HostListener& each : floor.listeners) ports.push_back(each.port());
  floor.job = job_of({host_id("127.0.0.12"), host_id("127.0.0.13")}, ports);
  floor.job.set_more_addresses(0, {host_id("127.0.0.14"), floor.addresses[0]});
  floor.job.set_more_addresses(1, {floor.addresses[1]});
  auto other = floor.start(1);
  std::vector<ConnectedHosts> connected;
  connected.push_back(floor.collect(0, kLongMs));
  connected.push_back(other.get());
  expect_joined(connected);
}

TEST(HostListener, RefusesWhatIsNoRangeOfPorts) {
  const auto parsed = PortRange::parse("IMPISHIM_PORT", "4711-4719");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->first, 4711);
  EXPECT_EQ(parsed->last, 4719);
  for (const char* bad : {"", "0", "65536", "47 11", "4719-4711", "1-", "-1", "1-2-3", "any"}) {
    const auto refused = PortRange::parse("IMPISHIM_PORT", bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_THAT(refused.error().text, HasSubstr(fmt::format("IMPISHIM_PORT={}: a port", bad)));
  }
}

/// Returns a floor where nothing listens at the port that host `closed` advertises, as behind a
/// firewall.
Floor floor_with_closed_port(std::int32_t closed, const HostId& nowhere) {
  Floor floor({"127.0.0.2", "127.0.0.3", "127.0.0.4"});
  std::vector<std::uint16_t> ports;
  for (const HostListener& each : floor.listeners) ports.push_back(each.port());
  std::vector<HostId> addresses = floor.addresses;
  addresses[static_cast<std::size_t>(closed)] = nowhere;
  floor.job = job_of(addresses, ports);
  return floor;
}

TEST(HostMesh, JoinsHostsThatAcceptNothing) {
  for (const std::int32_t closed : {0, 1, 2}) {
    Floor floor = floor_with_closed_port(closed, host_id("127.0.0.9"));
    floor.options.reversal_delay = std::chrono::milliseconds(20);
    testing::internal::CaptureStderr();
    auto connected = connect_all(floor);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    expect_joined(connected);
  }
}

/// Both directions race; each pair must agree on one connection.
TEST(HostMesh, KeepsOneConnectionOfTwo) {
  constexpr int kRounds = 100;
  testing::internal::CaptureStderr();
  for (int round = 0; round < kRounds; ++round) {
    Floor floor({"127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1"});
    floor.options.reversal_delay = std::chrono::milliseconds(round % 3);
    auto connected = connect_all(floor);
    expect_joined(connected);
    if (HasFatalFailure()) break;
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(HostMesh, TellsWhatBothDirectionsSaid) {
  Floor floor = floor_with_closed_port(2, host_id("127.0.0.9"));
  floor.options.reversal_delay = std::chrono::milliseconds(20);
  ConnectedHosts connected = floor.start(0, 500).get();
  ASSERT_FALSE(connected.ok());
  EXPECT_EQ(connected.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(connected.error().text, HasSubstr("host 2 (system 2, 127.0.0.9"));
  EXPECT_THAT(connected.error().text, HasSubstr("Connection refused"));
}

TEST(HostListener, ListensOnItsOwnAddressesOnly) {
  auto foreign = HostListener::open(host_id("192.0.2.1"));
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().kind, ErrorKind::kConfiguration);
  EXPECT_THAT(foreign.error().text, HasSubstr("IMPISHIM_HOST_ADDRESS"));
  auto own = HostListener::open(host_id("127.0.0.1"));
  ASSERT_TRUE(own.ok());
  EXPECT_NE(own->port(), 0);
}

/// Only that host connects, whichever number it has: its end's remote port is the other's listener.
TEST(HostMesh, OneConnectorIfAsked) {
  for (const std::int32_t connector : {0, 1}) {
    Floor floor({"127.0.0.1", "127.0.0.2"});
    floor.options.connector = connector;
    floor.options.is_partner = [](std::int32_t) { return true; };
    auto connected = connect_all(floor);
    expect_joined(connected);
    const auto& channel = connected[static_cast<std::size_t>(connector)]->front().channel;
    SocketAddress remote;
    ASSERT_EQ(getpeername(channel->descriptor(), remote.get(), &remote.size), 0);
    EXPECT_EQ(remote.port(), floor.job.host(1 - connector).port);
  }
}

TEST(HostMesh, NoOtherHostConnectsThen) {
  for (const std::int32_t connector : {0, 1}) {
    Floor floor({"127.0.0.1", "127.0.0.2"});
    floor.options.connector = connector;
    floor.options.is_partner = [](std::int32_t) { return true; };
    const HostListener other = std::move(floor.listeners[static_cast<std::size_t>(connector)]);
    constexpr int kShortMs = 100;
    const auto alone = floor.collect(1 - connector, kShortMs);
    ASSERT_FALSE(alone.ok());
    EXPECT_EQ(alone.error().kind, ErrorKind::kTimeout);
    pollfd waiting{other.sockets().front().get(), POLLIN, 0};
    EXPECT_EQ(poll(&waiting, 1, 0), 0) << "host " << 1 - connector << " has connected";
  }
}

}  // namespace
}  // namespace impishim::wire
