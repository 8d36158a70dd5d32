// SPDX-License-Identifier: Apache-2.0
// The gateway of a host and its procs on other nodes finding each other over TCP.
#include "wire/connect/gateway_links.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/connect/handshake_by_hand.hpp"
#include "wire/channel/address.hpp"

namespace impishim::wire {
namespace {

using test::bound_socket;
using test::connect_by_hand;
using test::hear;
using test::hello_of;
using test::host_id;
using test::kLongMs;
using test::random_bytes;
using test::receive_all;
using test::say;
using test::send_all;
using test::verdict;
using test::was_turned_away;
using testing::AllOf;
using testing::HasSubstr;

std::optional<Error> no_proc_gives_up() { return std::nullopt; }

GatewayListener listening(const std::string& address = "127.0.0.1") {
  auto listener = GatewayListener::open(host_id(address));
  EXPECT_TRUE(listener.ok());
  return std::move(*listener);
}

Result<Descriptor> connected(const GatewayOffer& offer, std::int32_t index) {
  return connect_to_gateway(offer, index, kLongMs);
}

/// A port of this address where nobody listens.
std::uint16_t closed_port(const std::string& address) {
  return bound_socket(host_id(address), false).second;
}

LinkTerms terms_of(const GatewayOffer& offer, std::int32_t index) {
  return {offer.secret, LinkPurpose::kGateway, index, 0};
}

GatewayOffer offer_of(std::vector<HostId> addresses, std::uint16_t port) {
  return {std::move(addresses), port, *JobSecret::random()};
}

TEST(GatewayLinks, EveryProcGetsAChannelOfItsOwn) {
  GatewayListener listener = listening();
  auto offer = GatewayOffer::decode(listener.offer().encode());
  ASSERT_TRUE(offer.ok());
  auto two = std::async(std::launch::async, connected, *offer, 2);
  auto five = std::async(std::launch::async, connected, *offer, 5);
  auto accepted = listener.accept({5, 2}, kLongMs, no_proc_gives_up);
  ASSERT_TRUE(accepted.ok()) << accepted.error().text;
  ASSERT_EQ(accepted->size(), 2U);
  std::vector<FabricLink> of_gateway;
  std::vector<FabricLink> of_procs;
  for (auto* end : {&five, &two}) {
    auto connection = end->get();
    ASSERT_TRUE(connection.ok()) << connection.error().text;
    of_procs.push_back({std::move(*connection), "the gateway"});
    of_gateway.push_back({std::move((*accepted)[of_gateway.size()]), "a process of this host"});
  }
  auto gateway = make_inner_channels(Client{}, std::move(of_gateway), {}, kLongMs);
  auto procs = make_inner_channels(Client{}, std::move(of_procs), {}, kLongMs);
  ASSERT_TRUE(gateway.ok() && procs.ok());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_THAT((*procs)[i]->peer_name(), AllOf(HasSubstr("the gateway (127.0.0.1:"),
                                                HasSubstr(std::to_string(offer->port))));
    const auto sent = random_bytes(1000, static_cast<std::uint32_t>(i));
    std::vector<std::byte> received(sent.size());
    ASSERT_TRUE(send_all(*(*procs)[i], sent).ok());
    ASSERT_TRUE(receive_all(*(*gateway)[i], received).ok());
    EXPECT_TRUE(received == sent);
  }
}

TEST(GatewayLinks, AddressesThatLeadNowhereDelayNoProc) {
  GatewayListener listener = listening();
  GatewayOffer offer = listener.offer();
  // Loopback addresses where nobody listens, before and behind the right one.
  offer.addresses = {host_id("127.0.0.77"), host_id("::1"), host_id("127.0.0.1"),
                     host_id("127.0.0.78")};
  auto proc = std::async(std::launch::async, connected, offer, 1);
  auto accepted = listener.accept({1}, kLongMs, no_proc_gives_up);
  EXPECT_TRUE(accepted.ok());
  EXPECT_TRUE(proc.get().ok());
}

/// A gateway that has given up because of another process has closed its port. The error must then
/// not hide that of the other process.
TEST(GatewayLinks, AnAbsentGatewayIsToldWithAllAddresses) {
  const GatewayOffer offer =
      offer_of({host_id("127.0.0.77"), host_id("127.0.0.78")}, closed_port("127.0.0.77"));
  auto proc = connect_to_gateway(offer, 1, kLongMs);
  ASSERT_FALSE(proc.ok());
  EXPECT_EQ(proc.error().kind, ErrorKind::kAborted);
  const std::string port = std::to_string(offer.port);
  EXPECT_THAT(proc.error().text, AllOf(HasSubstr("127.0.0.77:" + port + " (Connection refused)"),
                                       HasSubstr("127.0.0.78:" + port + " (Connection refused)"),
                                       HasSubstr("IMPISHIM_GATEWAY_ADDRESS")));
}

TEST(GatewayLinks, AGatewayThatDoesNotAnswerIsToldAsWell) {
  const auto [silent, port] = bound_socket(host_id("127.0.0.1"), true);
  auto proc = connect_to_gateway(offer_of({host_id("127.0.0.1")}, port), 1, 50);
  ASSERT_FALSE(proc.ok());
  EXPECT_THAT(proc.error().text, HasSubstr("(no answer in time)"));
}

/// A stranger at the gateway's port sends the proc's own message back, and then one that it has
/// recorded.
TEST(GatewayLinks, AStrangerIsNotTakenForTheGateway) {
  const auto [listener, port] = bound_socket(host_id("127.0.0.1"), true);
  const GatewayOffer offer = offer_of({host_id("127.0.0.1")}, port);
  auto proc = std::async(std::launch::async, connected, offer, 3);
  const Descriptor connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  auto words = hear(connection, LinkHandshake::kHelloSize);
  ASSERT_EQ(words.size(), LinkHandshake::kHelloSize);
  words.erase(words.begin(), words.begin() + 4);
  std::fill_n(words.begin(), LinkHandshake::kVerdictSize, std::byte{0});
  say(connection, words);
  auto outcome = proc.get();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind, ErrorKind::kConnection);
  EXPECT_THAT(outcome.error().text, HasSubstr("does not know this job's secret"));
}

TEST(GatewayLinks, StrangersAreTurnedAwayAndDelayNoProc) {
  GatewayListener listener = listening();
  const GatewayOffer offer = listener.offer();
  const auto here = host_id("127.0.0.1");
  const Descriptor silent = connect_by_hand(here, here, offer.port);
  const Descriptor garbage = connect_by_hand(here, here, offer.port);
  const Descriptor without_secret = connect_by_hand(here, here, offer.port);
  const Descriptor of_hosts = connect_by_hand(here, here, offer.port);
  const Descriptor not_awaited = connect_by_hand(here, here, offer.port);
  auto bytes = hello_of(terms_of(offer, 1));
  bytes[4] ^= std::byte{1};
  say(garbage, bytes);
  say(without_secret, hello_of(terms_of(offer_of({}, 0), 1)));
  say(of_hosts, hello_of({offer.secret, LinkPurpose::kHosts, 1, 0}));
  say(not_awaited, hello_of(terms_of(offer, 7)));
  connect_by_hand(here, here, offer.port).reset();
  auto accepted = std::async(std::launch::async,
                             [&] { return listener.accept({1}, kLongMs, no_proc_gives_up); });
  for (const Descriptor* each : {&without_secret, &of_hosts}) {
    EXPECT_EQ(verdict(*each), static_cast<std::uint32_t>(Refusal::kNoProof));
  }
  for (const Descriptor* each : {&garbage, &without_secret, &of_hosts, &not_awaited})
    EXPECT_TRUE(was_turned_away(*each));
  EXPECT_TRUE(connected(offer, 1).ok());
  EXPECT_TRUE(accepted.get().ok());
  EXPECT_TRUE(was_turned_away(silent));
}

/// What was said once opens nothing a second time, at this gateway or at one with the same secret.
TEST(GatewayLinks, ARecordedProcIsNotTakenForAProc) {
  GatewayListener listener = listening();
  const GatewayOffer offer = listener.offer();
  const auto here = host_id("127.0.0.1");
  auto accepted = std::async(std::launch::async, [&] {
    return listener.accept({1, 2}, kLongMs, no_proc_gives_up);
  });
  const auto hello = hello_of(terms_of(offer, 1));
  const Descriptor first = connect_by_hand(here, here, offer.port);
  say(first, hello);
  EXPECT_EQ(hear(first, LinkHandshake::kChallengeSize).size(), LinkHandshake::kChallengeSize);
  const Descriptor second = connect_by_hand(here, here, offer.port);
  say(second, hello);
  EXPECT_EQ(verdict(second), static_cast<std::uint32_t>(Refusal::kRepeated));
  EXPECT_TRUE(connected(offer, 1).ok());
  EXPECT_TRUE(connected(offer, 2).ok());
  EXPECT_TRUE(accepted.get().ok());
}

TEST(GatewayLinks, MissingProcsAreNamed) {
  GatewayListener listener = listening();
  auto accepted = listener.accept({4, 9}, 50, no_proc_gives_up);
  ASSERT_FALSE(accepted.ok());
  EXPECT_EQ(accepted.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(accepted.error().text,
              AllOf(HasSubstr("process 4 of this host, process 9 of this host"),
                    HasSubstr("IMPISHIM_GATEWAY_ADDRESS")));
}

TEST(GatewayLinks, AProcThatGivesUpEndsTheWait) {
  GatewayListener listener = listening();
  int asked = 0;
  auto accepted = listener.accept({4}, kLongMs, [&]() -> std::optional<Error> {
    return ++asked < 3 ? std::nullopt : std::optional(Error{ErrorKind::kConnection, "no way"});
  });
  ASSERT_FALSE(accepted.ok());
  EXPECT_EQ(accepted.error().text, "no way");
}

TEST(GatewayLinks, AnAddressOfAnotherMachineIsRefused) {
  auto listener = GatewayListener::open(host_id("192.0.2.1"));
  ASSERT_FALSE(listener.ok());
  EXPECT_EQ(listener.error().kind, ErrorKind::kConfiguration);
  EXPECT_THAT(listener.error().text,
              AllOf(HasSubstr("192.0.2.1"), HasSubstr("IMPISHIM_GATEWAY_ADDRESS")));
}

/// What is offered without an address depends on the machine; none is of the loopback.
TEST(GatewayLinks, WithoutAnAddressAllInterfacesAreOffered) {
  auto addresses = addresses_of_interfaces();
  ASSERT_TRUE(addresses.ok());
  auto listener = GatewayListener::open(std::nullopt);
  ASSERT_EQ(listener.ok(), !addresses->empty());
  if (!listener) {
    EXPECT_THAT(listener.error().text, HasSubstr("no network interface but the loopback"));
    return;
  }
  for (const HostId& each : listener->offer().addresses)
    EXPECT_NE(address_text(each).rfind("127.", 0), 0U);
  auto proc = std::async(std::launch::async, connected, listener->offer(), 1);
  EXPECT_TRUE(listener->accept({1}, kLongMs, no_proc_gives_up).ok());
  EXPECT_TRUE(proc.get().ok());
}

TEST(GatewayLinks, AnOfferThatIsCut) {
  const auto whole = listening().offer().encode();
  ASSERT_TRUE(GatewayOffer::decode(whole).ok());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(GatewayOffer::decode(std::span(whole).first(size)).ok());
}

}  // namespace
}  // namespace impishim::wire
