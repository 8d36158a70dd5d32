// SPDX-License-Identifier: Apache-2.0
// Who is paired with whom, who waits, and who is turned away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "tests/unit/wire/relay/relay_by_hand.hpp"
#include "wire/relay/relay_service.hpp"

namespace impishim::wire {
namespace {

using std::chrono::milliseconds;
using test::HostSocket;
using testing::ElementsAre;
using testing::HasSubstr;

class RelayAdmission : public test::RelayByHand {};

TEST_F(RelayAdmission, PairsTwoEndsInBothOrders) {
  for (const auto& [own, other] : {std::pair{1, 2}, std::pair{4, 3}}) {
    auto first = come(own, other);
    EXPECT_EQ(service->waiting(), 1U);
    EXPECT_EQ(first.text(), "");
    auto second = come(other, own);
    EXPECT_EQ(service->waiting(), 0U);
    EXPECT_TRUE(until([&] { return receive(first).is_answered(); }));
    EXPECT_TRUE(until([&] { return receive(second).is_answered(); }));
    first.send_some(test::bytes_of("ping"));
    EXPECT_TRUE(gets(second, "ping"));
    second.send_some(test::bytes_of("pong"));
    EXPECT_TRUE(gets(first, "pong"));
  }
  EXPECT_TRUE(until([&] { return service->pairs() == 0; })) << "each has ended with its sockets";
}

TEST_F(RelayAdmission, PairsNoOtherEnds) {
  auto a = come(1, 2);
  auto b = come(2, 3);
  auto c = come(3, 1);
  EXPECT_EQ(service->waiting(), 3U);
  EXPECT_EQ(service->pairs(), 0U);
  EXPECT_FALSE(service->idle());
}

TEST_F(RelayAdmission, ReadsAHelloInSingleBytes) {
  const auto hello = encode_relay_hello({token, {1, 2}});
  auto first = connect(std::span(hello).first(1));
  EXPECT_EQ(service->newcomers(), 1U);
  for (std::size_t i = 1; i < hello.size(); ++i) {
    ASSERT_EQ(service->waiting(), 0U);
    ASSERT_EQ(first.send_some(std::span(hello).subspan(i, 1)), 1U);
    ASSERT_TRUE(test::readable(service->descriptor(), test::kLongMs));
    handle();
  }
  EXPECT_EQ(service->waiting(), 1U);
  EXPECT_EQ(service->newcomers(), 0U);
}

TEST_F(RelayAdmission, ReadsNothingBehindAHello) {
  auto first = connect({});
  const auto hello = encode_relay_hello({token, {1, 2}});
  first.send_some(hello);
  first.send_some(test::bytes_of("early"));
  EXPECT_TRUE(until([&] { return service->waiting() == 1; }));
  first.send_some(test::bytes_of(" and more"));
  EXPECT_TRUE(becomes_quiet()) << "bytes that wait are no event";
  auto second = come(2, 1);
  EXPECT_TRUE(gets(second, "early and more"));
}

TEST_F(RelayAdmission, KeepsBytesThatWereReadWithTheHello) {
  auto bytes = encode_relay_hello({token, {1, 2}});
  std::vector<std::byte> more(bytes.begin(), bytes.end());
  const auto early = test::bytes_of("first ");
  more.insert(more.end(), early.begin(), early.end());
  auto first = connect(more);
  first.send_some(test::bytes_of("second"));
  auto second = come(2, 1);
  EXPECT_TRUE(gets(second, "first second"));
}

TEST_F(RelayAdmission, TurnsAwayWhoSendsTooMuchBeforeItIsConnected) {
  open({.buffer_size = 4096});
  std::vector<std::byte> bytes(4096);
  std::ranges::copy(encode_relay_hello({token, {1, 2}}), bytes.begin());
  auto host = connect(bytes);
  EXPECT_TRUE(service->idle());
  EXPECT_TRUE(is_closed(host));
}

TEST_F(RelayAdmission, TurnsAwayAWrongToken) {
  for (const std::size_t at : {std::size_t{0}, token.size() - 1}) {
    auto wrong = token;
    wrong[at] ^= std::byte{1};
    auto host = connect(encode_relay_hello({wrong, {1, 2}}));
    EXPECT_TRUE(service->idle());
    EXPECT_TRUE(is_closed(host));
    EXPECT_FALSE(host.is_answered());
  }
  EXPECT_THAT(reports, ElementsAre(HasSubstr("token"))) << "the second one is only counted";
  ASSERT_TRUE(service->next_limit().has_value());
  handle(Clock::now() + std::chrono::seconds(61));
  EXPECT_EQ(reports.size(), 2U);
}

TEST_F(RelayAdmission, TurnsAwayBytesThatAreNoHello) {
  auto host = connect(test::bytes_of("RSET / H"));
  EXPECT_TRUE(is_closed(host));
  EXPECT_THAT(reports, ElementsAre(HasSubstr("a host")));
}

TEST_F(RelayAdmission, TurnsAwayAnEndThatWantsItself) {
  auto host = come(5, 5);
  EXPECT_TRUE(service->idle());
  EXPECT_TRUE(is_closed(host));
  EXPECT_THAT(reports, ElementsAre(HasSubstr("5 and 5")));
}

TEST_F(RelayAdmission, TurnsAwayWhoClosesBeforeTheEndOfTheHello) {
  {
    const auto hello = encode_relay_hello({token, {1, 2}});
    auto host = connect(std::span(hello).first(47));
    EXPECT_EQ(service->newcomers(), 1U);
  }
  EXPECT_TRUE(until([&] { return service->idle(); }));
}

TEST_F(RelayAdmission, ReplacesAnOlderConnectionOfTheSameEnd) {
  auto older = come(1, 2);
  auto newer = come(1, 2);
  EXPECT_EQ(service->waiting(), 1U);
  EXPECT_TRUE(is_closed(older));
  EXPECT_THAT(reports, ElementsAre(HasSubstr("replaced")));
  auto partner = come(2, 1);
  partner.send_some(test::bytes_of("hello"));
  EXPECT_TRUE(gets(newer, "hello"));
}

TEST_F(RelayAdmission, LetsAnEndComeAgainWhileItsPairLasts) {
  auto [first, second] = pair_of(1, 2);
  auto again = come(1, 2);
  EXPECT_EQ(service->waiting(), 1U);
  first.send_some(test::bytes_of("old"));
  EXPECT_TRUE(gets(second, "old"));
  auto partner = come(2, 1);
  again.send_some(test::bytes_of("new"));
  EXPECT_TRUE(gets(partner, "new"));
  EXPECT_EQ(service->pairs(), 2U);
}

TEST_F(RelayAdmission, NoticesADeathWhileWaiting) {
  { auto host = come(1, 2); }
  EXPECT_TRUE(until([&] { return service->idle(); }));
  {
    auto host = come(1, 2);
    host.send_some(test::bytes_of("unread bytes before the end"));
  }
  EXPECT_TRUE(until([&] { return service->idle(); }));
  {
    auto host = come(1, 2);
    const linger reset{1, 0};
    setsockopt(host.socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  }
  EXPECT_TRUE(until([&] { return service->idle(); }));
}

TEST_F(RelayAdmission, ConnectsNoneWithADeadOne) {
  { auto host = come(1, 2); }
  ASSERT_TRUE(test::readable(service->descriptor(), test::kLongMs));
  auto partner = come(2, 1);  // before the relay has handled the end of the first one
  EXPECT_EQ(service->pairs(), 0U);
  EXPECT_EQ(service->waiting(), 1U);
  auto again = come(1, 2);
  EXPECT_EQ(service->pairs(), 1U);
  partner.send_some(test::bytes_of("hello"));
  EXPECT_TRUE(gets(again, "hello"));
}

TEST_F(RelayAdmission, LimitsTheTimeOfAHelloOnly) {
  auto waiting = come(1, 2);
  auto slow = connect(test::bytes_of("R"));
  const auto limit = service->next_limit();
  ASSERT_TRUE(limit.has_value());
  EXPECT_LE(*limit, Clock::now() + milliseconds(10000));
  handle(*limit - milliseconds(1));
  EXPECT_EQ(service->newcomers(), 1U);
  handle(*limit);
  EXPECT_EQ(service->newcomers(), 0U);
  EXPECT_TRUE(is_closed(slow));
  EXPECT_EQ(service->waiting(), 1U);
  EXPECT_FALSE(service->next_limit().has_value());
}

TEST_F(RelayAdmission, BoundsStrangers) {
  std::vector<HostSocket> strangers;
  for (int i = 0; i < 100; ++i) {
    strangers.push_back(connect(test::bytes_of("R")));
    ASSERT_LE(service->newcomers(), 64U);
  }
  EXPECT_EQ(service->newcomers(), 64U);
  EXPECT_TRUE(is_closed(strangers[0])) << "the oldest ones go";
  EXPECT_TRUE(is_closed(strangers[35]));
  strangers[36].receive_some();
  EXPECT_FALSE(strangers[36].ended || strangers[36].failed);
  EXPECT_EQ(reports.size(), 1U);
  auto [first, second] = pair_of(1, 2);
  first.send_some(test::bytes_of("still here"));
  EXPECT_TRUE(gets(second, "still here"));
}

TEST_F(RelayAdmission, BoundsConnections) {
  open({.connections = 4});
  const auto hosts = pair_of(1, 2);
  auto third = come(3, 4);
  auto fourth = connect(test::bytes_of("R"));
  reports.clear();
  auto fifth = come(4, 3);
  EXPECT_TRUE(is_closed(fifth));
  EXPECT_THAT(reports, ElementsAre(HasSubstr("4 connections")));
  EXPECT_EQ(service->waiting(), 1U);
  fourth.socket.reset();
  EXPECT_TRUE(until([&] { return service->newcomers() == 0; }));
  auto sixth = come(4, 3);
  EXPECT_EQ(service->pairs(), 2U);
}

TEST_F(RelayAdmission, RefusesLimitsThatAreTooSmall) {
  for (const RelayLimits& limits :
       {RelayLimits{.connections = 1}, RelayLimits{.newcomers = 0}, RelayLimits{.buffer_size = 9}})
    EXPECT_EQ(RelayService::open(token, limits).error().kind, ErrorKind::kConfiguration);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IMPISHIM_HAVE_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IMPISHIM_HAVE_SANITIZER
#endif

TEST_F(RelayAdmission, SurvivesALackOfMemory) {
#ifdef IMPISHIM_HAVE_SANITIZER
  GTEST_SKIP() << "a sanitizer ends the program that allocates too much";
#endif
  open({.buffer_size = std::size_t{1} << 60U});
  auto first = come(1, 2);
  auto second = come(2, 1);
  EXPECT_TRUE(is_closed(first));
  EXPECT_TRUE(is_closed(second));
  EXPECT_TRUE(service->idle());
  EXPECT_THAT(reports, ElementsAre(HasSubstr("memory")));
  auto third = come(1, 2);
  EXPECT_EQ(service->waiting(), 1U);
}

}  // namespace
}  // namespace impishim::wire
