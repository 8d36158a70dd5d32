#include "wire/channel/dance.hpp"
#include "wire/channel/tcp_channel.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "tests/channel/loopback.hpp"
#include "tests/channel/support.hpp"

namespace impishim::wire {
namespace {

using test::connect_by_hand;
using test::host_id;
using test::kLongMs;
using test::receive_all;
using test::say_rank;
using test::send_all;
using test::was_turned_away;
using testing::HasSubstr;

using Danced = Result<std::vector<HostChannel>>;

/// One host per address, one proc per host, all in one client.
JobMap job_of(const std::vector<HostId>& addresses, const std::vector<std::uint16_t>& ports) {
  std::vector<Host> hosts(addresses.size());
  std::vector<ProcId> procs(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    hosts[i].address = addresses[i];
    hosts[i].port = ports[i];
    hosts[i].proc_count = 1;
    procs[i] = {addresses[i], static_cast<std::int64_t>(i + 1)};
  }
  Client client;
  client.host_count = client.proc_count = static_cast<std::int32_t>(addresses.size());
  auto job = JobMap::create({client}, std::move(hosts), std::move(procs), NegotiatedValues{});
  EXPECT_TRUE(job.ok());
  return std::move(job).value();
}

/// Hosts with open listeners and the job that describes them.
struct Floor {
  explicit Floor(const std::vector<std::string>& texts) {
    std::vector<std::uint16_t> ports;
    for (const std::string& text : texts) {
      addresses.push_back(host_id(text));
      auto listener = HostListener::open(addresses.back());
      EXPECT_TRUE(listener.ok()) << listener.error().text;
      ports.push_back(listener->port());
      listeners.push_back(std::move(listener).value());
    }
    job = job_of(addresses, ports);
  }
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(addresses.size()); }
  [[nodiscard]] std::future<Danced> start(std::int32_t host, int timeout_ms = kLongMs) {
    return std::async(std::launch::async, [this, host, timeout_ms] { return collect(host, timeout_ms); });
  }
  [[nodiscard]] Danced collect(std::int32_t host, int timeout_ms) {
    std::vector<HostChannel> channels;
    const auto take = [&](std::int32_t other, Descriptor socket) {
      channels.push_back({other, std::make_unique<TcpChannel>(std::move(socket), host_name(job, other))});
      return Result<void>();
    };
    auto danced = dance(job, host, std::move(listeners[static_cast<std::size_t>(host)]), take, timeout_ms);
    if (!danced) return danced.error();
    std::sort(channels.begin(), channels.end(), [](const auto& a, const auto& b) { return a.host < b.host; });
    return channels;
  }
  [[nodiscard]] Descriptor stranger(const std::string& from, std::int32_t to = 0) const {
    const Host& host = job.hosts()[static_cast<std::size_t>(to)];
    return connect_by_hand(host_id(from), host.address, host.port);
  }

  std::vector<HostId> addresses;
  std::vector<HostListener> listeners;
  JobMap job;
};

/// Everybody tells everybody its number over the channels.
void expect_joined(std::vector<Danced>& danced) {
  for (std::size_t me = 0; me < danced.size(); ++me) {
    ASSERT_TRUE(danced[me].ok()) << danced[me].error().text;
    ASSERT_EQ(danced[me]->size(), danced.size() - 1);
    for (HostChannel& to : *danced[me]) {
      const std::array<std::byte, 1> own = {static_cast<std::byte>(me)};
      ASSERT_TRUE(send_all(*to.channel, own).ok());
    }
  }
  for (std::size_t me = 0; me < danced.size(); ++me) {
    std::int32_t before = -1;
    for (HostChannel& from : *danced[me]) {
      EXPECT_LT(before, from.host) << "each once";
      before = from.host;
      std::array<std::byte, 1> got{};
      ASSERT_TRUE(receive_all(*from.channel, got).ok());
      EXPECT_EQ(std::to_integer<std::int32_t>(got[0]), from.host);
      EXPECT_THAT(from.channel->peer_name(), HasSubstr(fmt::format("host {} ", from.host)));
    }
  }
}

std::vector<Danced> dance_all(Floor& floor) {
  std::vector<std::future<Danced>> running;
  for (std::int32_t host = 0; host < floor.size(); ++host) running.push_back(floor.start(host));
  std::vector<Danced> danced;
  for (auto& each : running) danced.push_back(each.get());
  return danced;
}

class DanceOfHosts : public testing::TestWithParam<std::vector<std::string>> {};

INSTANTIATE_TEST_SUITE_P(
    Addresses, DanceOfHosts,
    testing::Values(std::vector<std::string>{"127.0.0.1"}, std::vector<std::string>{"127.0.0.1", "127.0.0.1"},
                    std::vector<std::string>{"127.0.0.1", "127.0.0.1", "127.0.0.1"},
                    std::vector<std::string>{"127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1"},
                    std::vector<std::string>{"127.0.0.2", "127.0.0.3", "127.0.0.4"},
                    std::vector<std::string>{"127.0.0.6", "127.0.0.5", "127.0.0.4", "127.0.0.3", "127.0.0.2"},
                    std::vector<std::string>{"::1", "::1", "::1"}),
    [](const auto& info) { return fmt::format("{}of{}", info.param.size(), info.index); });

TEST_P(DanceOfHosts, JoinsEveryoneWithEveryone) {
  Floor floor(GetParam());
  auto danced = dance_all(floor);
  expect_joined(danced);
}

TEST(Dance, TakesBothFormsOfAnIpv4Address) {
  Floor floor({"127.0.0.1", "127.0.0.2"});
  std::vector<HostId> addresses = floor.addresses;
  for (HostId& address : addresses) address[10] = address[11] = std::byte{0xff};
  floor.job = job_of(addresses, {floor.listeners[0].port(), floor.listeners[1].port()});
  auto danced = dance_all(floor);
  expect_joined(danced);
}

TEST(Dance, TurnsStrangersAwayAndJoinsAllTheSame) {
  Floor floor({"127.0.0.1", "127.0.0.2", "127.0.0.3"});
  std::vector<Descriptor> strangers;
  const auto claim = [&](const std::string& from, std::int32_t rank) {
    strangers.push_back(floor.stranger(from));
    say_rank(strangers.back(), rank);
  };
  claim("127.0.0.9", 1);   // host 1's number, not its address
  claim("127.0.0.3", 1);   // another host's address
  claim("127.0.0.2", 0);   // the acceptor's own number
  claim("127.0.0.2", 3);   // one too many
  claim("127.0.0.2", -1);  // no number
  strangers.push_back(floor.stranger("127.0.0.9"));
  ASSERT_GT(send(strangers.back().get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 0);
  strangers.push_back(floor.stranger("127.0.0.9"));
  ASSERT_EQ(send(strangers.back().get(), "ab", 2, MSG_NOSIGNAL), 2);
  ASSERT_EQ(shutdown(strangers.back().get(), SHUT_WR), 0);
  floor.stranger("127.0.0.9").reset();

  testing::internal::CaptureStderr();
  auto danced = dance_all(floor);
  const std::string log = testing::internal::GetCapturedStderr();
  expect_joined(danced);
  for (std::size_t i = 0; i < strangers.size(); ++i) EXPECT_TRUE(was_turned_away(strangers[i])) << i;
  EXPECT_THAT(log, HasSubstr("turned away a connection from 127.0.0.9 port"));
  EXPECT_THAT(log, HasSubstr("it claims to be host 1 (system 0, 127.0.0.2 port"));
  EXPECT_THAT(log, HasSubstr("turned away a connection from 127.0.0.2 port"));
  EXPECT_THAT(log, HasSubstr("it claims to be host -1, which does not connect here"));
  EXPECT_THAT(log, HasSubstr("it claims to be host 3, which does not connect here"));
  EXPECT_THAT(log, HasSubstr("it closed before saying which host it is"));
}

TEST(Dance, IsNotDelayedBySilence) {
  Floor floor({"127.0.0.1", "127.0.0.2"});
  std::vector<Descriptor> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(floor.stranger(i % 2 == 0 ? "127.0.0.9" : "127.0.0.2"));
  // Half a number is no more than silence.
  ASSERT_EQ(send(silent.front().get(), "\0\0", 2, MSG_NOSIGNAL), 2);
  const auto begin = std::chrono::steady_clock::now();
  testing::internal::CaptureStderr();
  auto danced = dance_all(floor);
  testing::internal::GetCapturedStderr();
  // Far below the time that a connection has to introduce itself.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  expect_joined(danced);
  for (const Descriptor& each : silent) EXPECT_TRUE(was_turned_away(each));
}

/// Hosts 1 and 2 are played by hand, to have the order in hand.
TEST(Dance, KeepsTheFirstOfTwoThatClaimOneNumber) {
  Floor floor({"127.0.0.1", "127.0.0.2", "127.0.0.3"});
  const Descriptor first = floor.stranger("127.0.0.2");
  say_rank(first, 1);
  const Descriptor second = floor.stranger("127.0.0.2");
  say_rank(second, 1);
  testing::internal::CaptureStderr();
  auto running = floor.start(0);
  EXPECT_TRUE(was_turned_away(second));
  const Descriptor last = floor.stranger("127.0.0.3");
  say_rank(last, 2);
  Danced danced = running.get();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("host 1 is connected already"));
  ASSERT_TRUE(danced.ok()) << danced.error().text;
  ASSERT_EQ(danced->size(), 2U);
  ASSERT_EQ(send(first.get(), "x", 1, MSG_NOSIGNAL), 1);
  std::array<std::byte, 1> got{};
  EXPECT_TRUE(receive_all(*(*danced)[0].channel, got).ok());
  EXPECT_EQ(got[0], std::byte{'x'});
}

/// The number may come in pieces, and what follows it at once belongs to the channel.
TEST(Dance, ReadsTheNumberAndNoMore) {
  Floor floor({"127.0.0.1", "127.0.0.2"});
  const Descriptor host = floor.stranger("127.0.0.2");
  ASSERT_EQ(send(host.get(), "\0\0", 2, MSG_NOSIGNAL), 2);
  auto running = floor.start(0);
  ASSERT_EQ(send(host.get(), "\0\1packet", 8, MSG_NOSIGNAL), 8);
  Danced danced = running.get();
  ASSERT_TRUE(danced.ok()) << danced.error().text;
  std::array<std::byte, 6> got{};
  ASSERT_TRUE(receive_all(*danced->front().channel, got).ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(got.data()), got.size()), "packet");
}

TEST(Dance, ConnectsFromTheAdvertisedAddressAndSaysItsNumber) {
  const auto [listener, port] = test::bound_socket(host_id("127.0.0.7"), true);
  Floor floor({"127.0.0.1", "127.0.0.2"});
  floor.job = job_of({host_id("127.0.0.7"), host_id("127.0.0.2")}, {port, floor.listeners[1].port()});
  auto running = floor.start(1);
  SocketAddress from;
  const Descriptor accepted(accept4(listener.get(), from.get(), &from.size, SOCK_CLOEXEC));
  std::array<std::byte, 4> rank{};
  ASSERT_EQ(recv(accepted.get(), rank.data(), rank.size(), MSG_WAITALL), 4);
  EXPECT_EQ(load_big_endian<std::int32_t>(rank.data()), 1);
  EXPECT_EQ(address_text(from.host()), "127.0.0.2");
  EXPECT_TRUE(running.get().ok());
}

TEST(Dance, TriesAgainWhileAConnectionIsRefused) {
  const auto [late, port] = test::bound_socket(host_id("127.0.0.7"), false);
  Floor floor({"127.0.0.1", "127.0.0.2"});
  floor.job = job_of({host_id("127.0.0.7"), host_id("127.0.0.2")}, {port, floor.listeners[1].port()});
  auto running = floor.start(1);
  // Nothing tells when the first attempts have been refused; if there were none, the test is only weaker.
  EXPECT_EQ(running.wait_for(std::chrono::milliseconds(150)), std::future_status::timeout);
  ASSERT_EQ(listen(late.get(), 1), 0);
  EXPECT_TRUE(running.get().ok());
}

TEST(Dance, NamesTheMissingWhenTimeIsOver) {
  const auto [closed, port] = test::bound_socket(host_id("127.0.0.7"), false);
  Floor floor({"127.0.0.1", "127.0.0.2", "127.0.0.3"});
  floor.job =
      job_of({host_id("127.0.0.7"), host_id("127.0.0.2"), host_id("127.0.0.3")}, {port, floor.listeners[1].port(), 4711});
  const auto begin = std::chrono::steady_clock::now();
  Danced danced = floor.start(1, 200).get();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  ASSERT_FALSE(danced.ok());
  EXPECT_EQ(danced.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(danced.error().text, HasSubstr(fmt::format("host 0 (system 0, 127.0.0.7 port {}): Connection refused", port)));
  EXPECT_THAT(danced.error().text, HasSubstr("host 2 (system 0, 127.0.0.3 port 4711)"));
}

TEST(Dance, ConnectsFromNoAddressButItsOwn) {
  Floor floor({"127.0.0.1", "127.0.0.2"});
  // An address of nobody here (RFC 5737).
  floor.job = job_of({host_id("127.0.0.1"), host_id("192.0.2.1")}, {floor.listeners[0].port(), 1});
  Danced danced = floor.start(1).get();
  ASSERT_FALSE(danced.ok());
  EXPECT_EQ(danced.error().kind, ErrorKind::kConfiguration);
  EXPECT_THAT(danced.error().text, HasSubstr("IMPISHIM_HOST_ADDRESS"));
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

}  // namespace
}  // namespace impishim::wire
