// SPDX-License-Identifier: Apache-2.0
// Who is taken for a host of the job: strangers with every trick but the job's secret, floods, and
// a lack of descriptors.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/connect/handshake_by_hand.hpp"
#include "tests/unit/wire/connect/no_descriptors.hpp"
#include "tests/unit/wire/connect/open_hosts.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/connect/link_acceptor.hpp"

namespace impishim::wire {
namespace {

using test::complete;
using test::connect_by_hand;
using test::ConnectedHosts;
using test::expect_joined;
using test::Floor;
using test::hear;
using test::hello_of;
using test::host_id;
using test::job_of;
using test::NoDescriptors;
using test::prove;
using test::say;
using test::say_rank;
using test::verdict;
using test::was_turned_away;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto kNoProof = static_cast<std::uint32_t>(Refusal::kNoProof);

class DanceProof : public testing::Test {
 protected:
  /// Host 0 runs; the test plays the others. What it and the acceptor log goes to `log()`.
  void SetUp() override {
    testing::internal::CaptureStderr();
    host0 = floor.start(0);
  }
  /// The right host 1 comes, and all ends well.
  void expect_host1_joins() {
    std::vector<ConnectedHosts> connected;
    auto host1 = floor.start(1);
    connected.push_back(host0.get());
    connected.push_back(host1.get());
    expect_joined(connected);
    log = testing::internal::GetCapturedStderr();
  }
  void TearDown() override {
    if (host0.valid()) expect_host1_joins();
  }

  Floor floor{{"127.0.0.1", "127.0.0.2"}};
  std::future<ConnectedHosts> host0;
  std::string log;
};

/// The defect: it came first, from the right address, said 1, and had the link.
TEST_F(DanceProof, ANumberAloneTakesNoHostsPlace) {
  const Descriptor stranger = floor.stranger("127.0.0.2");
  say_rank(stranger, 1);
  expect_host1_joins();
  EXPECT_TRUE(was_turned_away(stranger));
  EXPECT_THAT(log, HasSubstr("all that were awaited are connected"));
}

TEST_F(DanceProof, AnotherJobsSecretIsNone) {
  const Descriptor stranger = floor.stranger("127.0.0.2");
  const auto proven = prove(stranger, {*JobSecret::random(), LinkPurpose::kHosts, 1, 0});
  ASSERT_FALSE(proven.ok());
  EXPECT_THAT(proven.error().text, HasSubstr("it does not take this process for one of its job"));
  expect_host1_joins();
  EXPECT_THAT(log, HasSubstr("it claims to be number 1 and does not know this job's secret"));
}

TEST_F(DanceProof, AProofForAnotherPurposeHostOrAcceptorIsNone) {
  const JobSecret& secret = *floor.options.secret;
  for (const LinkTerms& terms :
       {LinkTerms{secret, LinkPurpose::kGateway, 1, 0},
        LinkTerms{secret, LinkPurpose::kHosts, 2, 0}, LinkTerms{secret, LinkPurpose::kHosts, 1, 2},
        LinkTerms{secret, LinkPurpose::kHosts, 0, 1}}) {
    auto hello = hello_of(terms);
    store_big_endian(hello.data(), std::int32_t{1});
    const Descriptor stranger = floor.stranger("127.0.0.2");
    say(stranger, hello);
    EXPECT_EQ(verdict(stranger), kNoProof);
  }
}

/// An address translator gives a host another address than it has advertised.
TEST_F(DanceProof, TheRightProofCountsFromAnyAddress) {
  Descriptor elsewhere = floor.stranger("127.0.0.9");
  const auto proven = prove(elsewhere, floor.terms(1, 0));
  ASSERT_TRUE(proven.ok()) << proven.error().text;
  ConnectedHosts connected = host0.get();
  testing::internal::GetCapturedStderr();
  ASSERT_TRUE(connected.ok()) << connected.error().text;
}

TEST_F(DanceProof, EveryBitOfAHelloCounts) {
  for (std::size_t at = 0; at < LinkHandshake::kHelloSize; at += 7) {
    auto hello = hello_of(floor.terms(1, 0));
    hello[at] ^= std::byte{0x10};
    const Descriptor stranger = floor.stranger("127.0.0.2");
    say(stranger, hello);
    EXPECT_TRUE(verdict(stranger) == kNoProof || was_turned_away(stranger)) << at;
  }
}

TEST_F(DanceProof, ARecordedHandshakeProvesNothing) {
  const auto hello = hello_of(floor.terms(1, 0));
  const Descriptor first = floor.stranger("127.0.0.2");
  say(first, hello);
  EXPECT_EQ(hear(first, LinkHandshake::kChallengeSize).size(), LinkHandshake::kChallengeSize);
  const Descriptor second = floor.stranger("127.0.0.2");
  say(second, hello);
  EXPECT_EQ(verdict(second), static_cast<std::uint32_t>(Refusal::kRepeated));
}

/// A whole handshake is recorded at one acceptor and said again at another one with the same secret
/// and number.
TEST_F(DanceProof, ARecordedAnswerDoesNotFitANewChallenge) {
  auto handshake = ConnectorHandshake::prove(floor.terms(1, 0));
  ASSERT_TRUE(handshake.ok());
  const auto hello = test::bytes_of(handshake->output());
  const LinkTerms terms = floor.terms(1, 0);
  const LinkJudge judge{[](std::int32_t) { return LinkJudgement{}; },
                        [](const LinkNonce&) { return true; }};
  AcceptorHandshake recorder(&terms, judge);
  for (std::size_t done = 0; done < hello.size();) {
    const auto room = recorder.room();
    std::copy_n(hello.begin() + static_cast<std::ptrdiff_t>(done), room.size(), room.begin());
    done += room.size();
    ASSERT_TRUE(recorder.filled(room.size()).ok());
  }
  handshake->sent(hello.size());
  const auto challenge = test::bytes_of(recorder.output());
  ASSERT_EQ(challenge.size(), LinkHandshake::kChallengeSize);
  for (std::size_t done = 0; done < challenge.size();) {
    const auto room = handshake->room();
    std::copy_n(challenge.begin() + static_cast<std::ptrdiff_t>(done), room.size(), room.begin());
    done += room.size();
    ASSERT_TRUE(handshake->filled(room.size()).ok());
  }
  const Descriptor stranger = floor.stranger("127.0.0.2");
  say(stranger, hello);
  EXPECT_EQ(hear(stranger, LinkHandshake::kChallengeSize).size(), LinkHandshake::kChallengeSize);
  say(stranger, handshake->output());
  EXPECT_EQ(verdict(stranger), kNoProof);
}

TEST_F(DanceProof, AReflectedChallengeProvesNothing) {
  const Descriptor stranger = floor.stranger("127.0.0.2");
  say(stranger, hello_of(floor.terms(1, 0)));
  const auto challenge = hear(stranger, LinkHandshake::kChallengeSize);
  ASSERT_EQ(challenge.size(), LinkHandshake::kChallengeSize);
  say(stranger, std::span(challenge).last(LinkHandshake::kProofSize));
  EXPECT_EQ(verdict(stranger), kNoProof);
}

/// A connection that does not go on after its hello delays no other with the same number.
TEST_F(DanceProof, AnUnfinishedProofHoldsNoPlace) {
  const Descriptor unfinished = floor.stranger("127.0.0.2");
  say(unfinished, hello_of(floor.terms(1, 0)));
  EXPECT_EQ(hear(unfinished, LinkHandshake::kChallengeSize).size(), LinkHandshake::kChallengeSize);
  expect_host1_joins();
  EXPECT_TRUE(was_turned_away(unfinished));
}

TEST_F(DanceProof, AHandshakeInSmallPiecesIsTaken) {
  const Descriptor host = floor.stranger("127.0.0.2");
  auto handshake = ConnectorHandshake::prove(floor.terms(1, 0));
  ASSERT_TRUE(handshake.ok());
  const auto hello = test::bytes_of(handshake->output());
  for (const std::byte each : hello) say(host, std::span(&each, 1));
  handshake->sent(hello.size());
  EXPECT_TRUE(complete(host, *handshake).ok());
  EXPECT_TRUE(host0.get().ok());
  testing::internal::GetCapturedStderr();
}

/// More than a listen queue holds and much more than are kept, some with half a number, all before
/// the right one.
TEST_F(DanceProof, AFloodOfSilentConnectionsDelaysNoHost) {
  std::vector<Descriptor> silent;
  for (int i = 0; i < 500; ++i) {
    silent.push_back(floor.stranger(i % 2 == 0 ? "127.0.0.9" : "127.0.0.2"));
    ASSERT_TRUE(i % 3 != 0 || send(silent.back().get(), "\0\0", 2, MSG_NOSIGNAL) == 2);
  }
  // The oldest has gone already, to make room.
  EXPECT_TRUE(was_turned_away(silent.front()));
  const auto begin = std::chrono::steady_clock::now();
  expect_host1_joins();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, LinkAcceptor::kIntroductionTime / 2);
  for (const Descriptor& each : silent) EXPECT_TRUE(was_turned_away(each));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
  EXPECT_THAT(log, HasSubstr("there were too many"));
}

/// An acceptor that knows nothing of the job is not taken for host 0, whatever it sends back.
TEST(DanceProofOfTheAcceptor, AStrangerAtAHostsPortIsNotTaken) {
  const auto [listener, port] = test::bound_socket(host_id("127.0.0.7"), true);
  Floor floor({"127.0.0.1", "127.0.0.2"});
  floor.job =
      job_of({host_id("127.0.0.7"), host_id("127.0.0.2")}, {port, floor.listeners[1].port()});
  testing::internal::CaptureStderr();
  auto running = floor.start(1, 500);
  const Descriptor connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  auto words = hear(connection, LinkHandshake::kHelloSize);
  ASSERT_EQ(words.size(), LinkHandshake::kHelloSize);
  // Its own nonce and proof, sent back.
  words.erase(words.begin(), words.begin() + 4);
  std::fill_n(words.begin(), LinkHandshake::kVerdictSize, std::byte{0});
  say(connection, words);
  ConnectedHosts connected = running.get();
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_FALSE(connected.ok());
  EXPECT_EQ(connected.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(connected.error().text,
              HasSubstr("what listens there does not know this job's secret"));
  EXPECT_THAT(log, AllOf(HasSubstr("cannot connect to host 0"), HasSubstr("trying again")));
}

/// Two hosts with different secrets: both tell why they do not find each other.
TEST(DanceProofOfTheAcceptor, BothEndsSayWhyThereIsNoConnection) {
  Floor floor({"127.0.0.1", "127.0.0.2"});
  testing::internal::CaptureStderr();
  auto host0 = floor.start(0, 500);
  Floor other = Floor({"127.0.0.1", "127.0.0.2"});
  other.job = floor.job;
  ConnectedHosts connected = other.start(1, 500).get();
  ConnectedHosts accepted = host0.get();
  testing::internal::GetCapturedStderr();
  ASSERT_TRUE(!connected.ok() && !accepted.ok());
  EXPECT_THAT(connected.error().text,
              HasSubstr("it does not take this process for one of its job"));
  EXPECT_THAT(accepted.error().text,
              AllOf(HasSubstr("host 1 (system 1, 127.0.0.2"), HasSubstr("was turned away"),
                    HasSubstr("does not know this job's secret")));
}

/// It has been listening, its connection ended, and now no process listens there: waiting for it
/// would be in vain.
TEST(DanceProofOfTheAcceptor, AHostThatHasEndedIsNotAwaited) {
  auto bound = test::bound_socket(host_id("127.0.0.7"), true);
  Floor floor({"127.0.0.1", "127.0.0.2"});
  floor.job = job_of({host_id("127.0.0.7"), host_id("127.0.0.2")},
                     {bound.second, floor.listeners[1].port()});
  auto running = floor.start(1);
  Descriptor connection(accept4(bound.first.get(), nullptr, nullptr, SOCK_CLOEXEC));
  bound.first.reset();
  connection.reset();
  ConnectedHosts connected = running.get();
  ASSERT_FALSE(connected.ok());
  EXPECT_EQ(connected.error().kind, ErrorKind::kConnection);
  EXPECT_THAT(connected.error().text, HasSubstr("host 0 (system 0, 127.0.0.7"));
  EXPECT_THAT(connected.error().text, HasSubstr("has ended before all hosts were connected"));
}

TEST(DanceProofOfTheAcceptor, WithoutASecretOurSystemsAreNotConnected) {
  Floor floor({"127.0.0.1", "127.0.0.2"});
  floor.options.secret.reset();
  ConnectedHosts connected = floor.start(0).get();
  ASSERT_FALSE(connected.ok());
  EXPECT_EQ(connected.error().kind, ErrorKind::kConfiguration);
  EXPECT_THAT(connected.error().text, HasSubstr("have not agreed on a secret"));
}

/// A listener without descriptors goes on when there are some again, and does not spin meanwhile.
TEST(LinkAcceptor, ALackOfDescriptorsEndsNothing) {
  const JobSecret secret = *JobSecret::random();
  auto listener = HostListener::open(host_id("127.0.0.1"));
  ASSERT_TRUE(listener.ok());
  std::optional<std::int32_t> taken;
  LinkAcceptor acceptor(
      listener->sockets(),
      {.log_prefix = "",
       .terms = LinkTerms{secret, LinkPurpose::kHosts, -1, 0},
       .judge = [](std::int32_t, const SocketAddress&) { return LinkJudgement{}; },
       .take = [&](std::int32_t number, const Descriptor&) { taken = number; },
       .may_end_early = {}});
  const auto here = host_id("127.0.0.1");
  const Descriptor waiting = connect_by_hand(here, here, listener->port());
  int rounds = 0;
  const auto round = [&](int timeout_ms) {
    std::vector<pollfd> polled;
    acceptor.append_polled(polled);
    EXPECT_GE(poll(polled.data(), polled.size(), timeout_ms), 0);
    acceptor.handle(polled);
    ++rounds;
  };
  testing::internal::CaptureStderr();
  {
    const NoDescriptors none;
    const auto end = std::chrono::steady_clock::now() + 4 * AcceptRest::kRest;
    while (std::chrono::steady_clock::now() < end)
      round(static_cast<int>(AcceptRest::kRest.count()));
    EXPECT_THAT(acceptor.trouble(),
                AllOf(HasSubstr("Too many open files"), HasSubstr("ulimit -n")));
    EXPECT_LT(rounds, 20);
  }
  auto proven = std::async(std::launch::async, [&] {
    return prove(waiting, {secret, LinkPurpose::kHosts, 3, 0});
  });
  const auto late = std::chrono::steady_clock::now() + std::chrono::milliseconds(test::kLongMs);
  while (!taken && std::chrono::steady_clock::now() < late) round(10);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(taken, 3);
  EXPECT_TRUE(proven.get().ok());
  EXPECT_EQ(acceptor.trouble(), "");
}

}  // namespace
}  // namespace impishim::wire
