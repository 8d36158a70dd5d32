// SPDX-License-Identifier: Apache-2.0
// Client processes that have ended, as what started them reports it: kEnded.
#include <gmock/gmock.h>

#include "tests/unit/wire/startup/scripted_server.hpp"
#include "tests/unit/wire/startup/support.hpp"
#include "wire/startup/startup_client.hpp"

namespace impishim::wire {
namespace {

using test::auth;
using test::Bytes;
using test::bytes_of;
using test::command;
using test::DrivenServer;
using test::expect_turned_away;
using test::Peer;
using test::ScriptedServer;
using test::operator+;  // NOLINT(misc-unused-using-decls): clang-tidy 14 overlooks operators
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

const AuthenticationMethods kNone{.none = true, .key = false, .key_value = 0};
const AuthenticationMethods kKey{.none = false, .key = true, .key_value = 0x1122334455667788};

/// Reports the end over a new connection. Returns whether the server says that the client has never
/// joined.
std::optional<bool> report(DrivenServer& driven, int connection, const EndedLaunch& launch) {
  driven.connect(connection);
  driven.say(connection, auth(1));
  EXPECT_EQ(driven.take(connection), bytes_of(kAuthNone, 0));
  driven.say(connection, command(StartupCommand::kHello) + encode_ended(launch));
  EXPECT_EQ(driven.next(connection).command, static_cast<std::uint32_t>(StartupCommand::kHello));
  const StartupMessage answer = driven.next(connection);
  EXPECT_EQ(answer.command, static_cast<std::uint32_t>(StartupCommand::kEnded));
  EXPECT_TRUE(driven.nothing_for(connection));
  EXPECT_TRUE(driven.closed(connection));
  driven.hang_up(connection);
  return parse_ended_answer(answer.payload);
}

TEST(EndedLaunch, EndsTheWaitingOfOthersAtOnce) {
  DrivenServer driven(2);
  driven.join(1, 0);
  EXPECT_EQ(report(driven, 2, {1, 0}), true);
  ASSERT_TRUE(driven.server.failure().has_value());
  EXPECT_EQ(driven.server.failure()->text,
            "system 1 ended before it had joined; 1 of 2 systems have joined; missing: 1");
  expect_turned_away(driven, 1, "system 1 ended before it had joined");
}

TEST(EndedLaunch, IsToldToThoseThatComeLater) {
  DrivenServer driven(2);
  EXPECT_EQ(report(driven, 1, {1, 0}), true);
  EXPECT_FALSE(driven.server.failure().has_value());
  EXPECT_THAT(driven.told(),
              ElementsAre(HasSubstr("system 1 ended before it had joined, says peer 1")));
  driven.join(2, 0);
  ASSERT_TRUE(driven.server.failure().has_value());
  expect_turned_away(driven, 2, "system 1 ended before it had joined");
}

TEST(EndedLaunch, MayBeFollowedByAnother) {
  DrivenServer driven(2);
  EXPECT_EQ(report(driven, 1, {1, 0}), true);
  driven.join(2, 1);
  driven.join(3, 0);
  EXPECT_FALSE(driven.server.failure().has_value());
  EXPECT_TRUE(driven.server.all_joined());
}

TEST(EndedLaunch, OfAllClientsEndsTheServer) {
  DrivenServer driven(2);
  EXPECT_EQ(report(driven, 1, {1, 0}), true);
  EXPECT_FALSE(driven.server.nobody_came());
  EXPECT_EQ(report(driven, 2, {0, 0}), true);
  EXPECT_TRUE(driven.server.nobody_came());
}

TEST(EndedLaunch, DoesNotDisturbAJob) {
  DrivenServer driven(2);
  driven.join(1, 0);
  EXPECT_EQ(report(driven, 2, {0, 0}), false);  // perhaps another launch with the same number
  driven.join(3, 1);
  EXPECT_EQ(report(driven, 4, {1, 0}), false);
  EXPECT_FALSE(driven.server.failure().has_value());
  EXPECT_FALSE(driven.closed(1));
  EXPECT_FALSE(driven.closed(3));
}

TEST(EndedLaunch, OfAClientThatJoinedAndLeftLeavesItsPlaceFree) {
  DrivenServer waiting(3);
  waiting.join(1, 0);
  waiting.join(2, 1);
  waiting.hang_up(2);
  EXPECT_EQ(report(waiting, 3, {1, 0}), false);
  EXPECT_FALSE(waiting.server.failure().has_value());
  EXPECT_EQ(report(waiting, 4, {1, 0}), true);  // the next launch
  EXPECT_TRUE(waiting.server.failure().has_value());
}

TEST(EndedLaunch, OlderThanTheServerWasAnEarlierJobs) {
  DrivenServer driven(2);
  driven.join(1, 0);
  driven.pass(milliseconds(500));
  EXPECT_EQ(report(driven, 2, {1, 501}), false);
  EXPECT_EQ(report(driven, 3, {1, ~std::uint64_t{0}}), false);
  EXPECT_FALSE(driven.server.failure().has_value());
  EXPECT_EQ(report(driven, 4, {1, 500}), true);
}

TEST(EndedLaunch, NumberThatDoesNotExist) {
  DrivenServer driven(2);
  driven.join(1, 0);
  int connection = 1;
  for (const std::int32_t client : {2, -1, INT32_MIN, INT32_MAX})
    EXPECT_EQ(report(driven, ++connection, {client, 0}), false);
  EXPECT_FALSE(driven.server.failure().has_value());
  EXPECT_FALSE(driven.server.nobody_came());
}

TEST(EndedLaunch, IsBelievedOfAuthenticatedPeersAlone) {
  DrivenServer driven(2, kKey);
  driven.connect(1);
  driven.say(1, encode_ended({1, 0}));
  expect_turned_away(driven, 1, "AUTH must come first");
  driven.connect(2);
  driven.say(2, auth(1U << kAuthKey));
  static_cast<void>(driven.take(2));
  driven.say(2,
             bytes_of(std::uint64_t{7}) + command(StartupCommand::kHello) + encode_ended({1, 0}));
  expect_turned_away(driven, 2, "wrong authentication key");
  DrivenServer plain(2);
  plain.join(1, 0);
  plain.connect(2);
  plain.say(2, auth(1) + encode_ended({1, 0}));  // not announced: a command that is not known
  EXPECT_EQ(plain.take(2), bytes_of(kAuthNone, 0));
  plain.say(1, encode_ended({1, 0}));  // nor from a client
  EXPECT_FALSE(plain.server.failure().has_value());
}

TEST(EndedLaunch, TooShort) {
  DrivenServer driven(2);
  driven.connect(1);
  driven.say(1, auth(1) + command(StartupCommand::kHello) +
                    encode_startup(StartupCommand::kEnded, Bytes(11)));
  static_cast<void>(driven.next(1));
  EXPECT_FALSE(parse_ended(Bytes(11)).has_value());
  EXPECT_EQ(parse_ended(bytes_of(3, std::uint64_t{5}, 9)), (EndedLaunch{3, 5}));
  EXPECT_FALSE(parse_ended_answer(Bytes(3)).has_value());
  EXPECT_TRUE(driven.closed(1));
  EXPECT_FALSE(driven.server.nobody_came());
}

TEST(EndedLaunch, ReporterGetsTheAnswer) {
  for (const bool never_joined : {true, false}) {
    ScriptedServer server([&](Peer& peer) {
      EXPECT_EQ(peer.receive(12), auth(1U << kAuthKey));
      peer.send(bytes_of(kAuthKey, 0));
      EXPECT_EQ(peer.receive(36),
                bytes_of(kKey.key_value) + command(StartupCommand::kHello) + encode_ended({4, 77}));
      peer.send(command(StartupCommand::kHello) + encode_ended_answer(never_joined));
    });
    auto answer = report_ended(server.address, {4, 77}, kKey, milliseconds(30000));
    ASSERT_TRUE(answer.ok()) << answer.error().text;
    EXPECT_EQ(*answer, never_joined);
  }
}

TEST(EndedLaunch, ReporterKnowsNothingFromOtherServers) {
  ScriptedServer gone([](Peer&) {});
  EXPECT_FALSE(report_ended(gone.address, {0, 0}, kNone, milliseconds(30000)).ok());
  ScriptedServer short_answer([](Peer& peer) {
    static_cast<void>(peer.receive(12));
    peer.send(bytes_of(kAuthNone, 0) + command(StartupCommand::kHello) +
              encode_startup(StartupCommand::kEnded, Bytes(3)));
    static_cast<void>(peer.receive(28));
  });
  EXPECT_FALSE(report_ended(short_answer.address, {0, 0}, kNone, milliseconds(30000)).ok());
}

TEST(EndedLaunch, ReporterWaitsForAMomentOnly) {
  ScriptedServer silent([](Peer& peer) { static_cast<void>(peer.receive(1000)); });
  auto nothing = report_ended(silent.address, {0, 0}, kNone, milliseconds(50));
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().kind, ErrorKind::kTimeout);
  ScriptedServer foreign([](Peer& peer) {
    static_cast<void>(peer.receive(12));
    peer.send(bytes_of(kAuthNone, 0));
    static_cast<void>(peer.receive(1000));  // it skips what it does not know
  });
  auto unknown = report_ended(foreign.address, {0, 0}, kNone, milliseconds(50));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::kTimeout);
}

}  // namespace
}  // namespace impishim::wire
