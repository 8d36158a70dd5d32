// SPDX-License-Identifier: Apache-2.0
// The server's side: clients of ours, places of dead clients, limits of time and number.
#include "wire/server/startup_server.hpp"

#include <gmock/gmock.h>

#include "tests/unit/wire/startup/support.hpp"

namespace impishim::wire {
namespace {

using test::as_text;
using test::auth;
using test::Bytes;
using test::bytes_of;
using test::command;
using test::DrivenServer;
using test::expect_turned_away;
using test::impi;
using test::text_bytes;
using testing::ElementsAre;
using testing::HasSubstr;

const AuthenticationMethods kBoth{.none = true, .key = true, .key_value = 0x0102030405060708};
const AuthenticationMethods kOnlyKey{.none = false, .key = true, .key_value = 0x0102030405060708};

TEST(StartupServer, AnnouncesItselfOnlyToClientsThatDo) {
  DrivenServer driven(2);
  driven.announce(1, 0);
  EXPECT_EQ(driven.take(1), encode_waiting({.joined = false, .clients = 2, .missing = 0b10}));
  driven.join(2, 1);
  EXPECT_EQ(driven.take(1), encode_startup(StartupCommand::kImpi, bytes_of(2)));
  EXPECT_EQ(driven.take(2), encode_startup(StartupCommand::kImpi, bytes_of(2)));
}

TEST(StartupServer, ForeignClientNeverReceivesAPrivateCommand) {
  DrivenServer driven(3);
  driven.join(1, 0);
  driven.announce(2, 1);
  driven.join(3, 0);  // asks for a number that is taken
  driven.answer_probe(1);
  driven.pass(std::chrono::seconds(25));
  EXPECT_TRUE(driven.nothing_for(1));
  driven.announce(4, 2);
  EXPECT_EQ(driven.take(1), encode_startup(StartupCommand::kImpi, bytes_of(3)));
  for (const int connection : {1, 2}) driven.say(connection, command(StartupCommand::kDone));
  driven.pass(std::chrono::seconds(25));
  EXPECT_TRUE(driven.nothing_for(1));
  driven.say(4, command(StartupCommand::kDone));
  EXPECT_EQ(driven.take(1), command(StartupCommand::kDone));
}

TEST(StartupServer, TellsItsClientsForWhomTheyWait) {
  DrivenServer driven(3);
  driven.announce(1, 0);
  static_cast<void>(driven.take(1));
  driven.pass(std::chrono::seconds(9));
  EXPECT_TRUE(driven.nothing_for(1));
  driven.pass(std::chrono::seconds(1));
  EXPECT_EQ(driven.take(1), encode_waiting({.joined = false, .clients = 3, .missing = 0b110}));
  driven.join(2, 2);
  EXPECT_EQ(driven.take(1), encode_waiting({.joined = false, .clients = 3, .missing = 0b010}));
  driven.hang_up(2);
  EXPECT_EQ(driven.take(1), encode_waiting({.joined = false, .clients = 3, .missing = 0b110}));
  driven.join(3, 2);
  driven.join(4, 1);
  static_cast<void>(driven.take(1));
  driven.say(4, command(StartupCommand::kDone));
  EXPECT_EQ(driven.take(1), encode_waiting({.joined = true, .clients = 3, .missing = 0b101}));
}

TEST(StartupServer, NewcomerReplacesADeadPredecessor) {
  for (const bool noticed : {true, false}) {
    DrivenServer driven(2);
    driven.announce(1, 0);
    driven.announce(2, 0);
    EXPECT_THAT(driven.probed(), ElementsAre(1));
    EXPECT_TRUE(driven.nothing_for(2));
    if (noticed) {
      driven.hang_up(1);  // the probe's result, or its machine has come back
    } else {
      driven.pass(std::chrono::seconds(8));
      EXPECT_TRUE(driven.closed(1));
      EXPECT_THAT(driven.told(),
                  testing::Contains(
                      "the machine of system 0 at peer 1 does not answer; peer 2 takes its place"));
      EXPECT_THAT(as_text(driven.next(2).payload), HasSubstr("takes the place of peer 1"));
    }
    EXPECT_EQ(driven.next(2).command, static_cast<std::uint32_t>(StartupCommand::kWaiting));
    EXPECT_TRUE(driven.server.is_member(2));
    driven.join(3, 1);
    EXPECT_EQ(driven.take(2), encode_startup(StartupCommand::kImpi, bytes_of(2)));
    driven.hang_up(1);
    EXPECT_FALSE(driven.server.failure().has_value());
  }
}

TEST(StartupServer, SecondLiveClientCannotStealANumber) {
  DrivenServer driven(2);
  driven.announce(1, 0);
  static_cast<void>(driven.take(1));
  driven.announce(2, 0);
  const StartupMessage note = driven.next(1);
  EXPECT_EQ(note.command, static_cast<std::uint32_t>(StartupCommand::kNote));
  EXPECT_THAT(as_text(note.payload), HasSubstr("another system 0 asks to join, from peer 2"));
  driven.answer_probe(1);
  expect_turned_away(
      driven, 2,
      "system 0 has joined already, from peer 1, whose machine answers: end that one first");
  driven.join(3, 1);
  EXPECT_FALSE(driven.server.failure().has_value());
  EXPECT_TRUE(driven.server.is_member(1));
}

TEST(StartupServer, OneNewcomerAtATimeWaitsForANumber) {
  DrivenServer driven(2);
  driven.join(1, 0);
  driven.join(2, 0);
  driven.join(3, 0);
  expect_turned_away(driven, 3,
                     "system 0 has joined already, from peer 1, and peer 2 waits for its place");
  driven.hang_up(2);
  driven.join(4, 0);
  EXPECT_FALSE(driven.closed(4));
  driven.hang_up(1);
  EXPECT_TRUE(driven.server.is_member(4));
}

TEST(StartupServer, JobDoesNotBeginWhileANumberIsContended) {
  DrivenServer driven(2);
  driven.join(1, 0);
  driven.join(2, 0);
  driven.join(3, 1);
  EXPECT_TRUE(driven.nothing_for(3));
  driven.hang_up(1);
  EXPECT_FALSE(driven.server.failure().has_value());
  for (const int connection : {2, 3})
    EXPECT_EQ(driven.take(connection), encode_startup(StartupCommand::kImpi, bytes_of(2)));
  driven.join(4, 0);
  expect_turned_away(driven, 4, "and the job has begun");
}

TEST(StartupServer, NewcomerThatSendsAheadIsHeardWhenItHasThePlace) {
  DrivenServer driven(1);
  driven.announce(9, 0);  // one client: begun at once
  DrivenServer contended(2);
  contended.join(1, 0);
  contended.join(2, 0);
  contended.say(2, encode_coll(0x1000, bytes_of(1U)));
  contended.say(2, command(StartupCommand::kDone));
  contended.hang_up(1);
  contended.join(3, 1);
  contended.say(3, command(StartupCommand::kDone));
  EXPECT_EQ(contended.next(2).payload, bytes_of(2));
  EXPECT_EQ(contended.next(2).payload, bytes_of(0x1000U, 1U, 1U));
  EXPECT_EQ(contended.take(2), command(StartupCommand::kDone));
  contended.join(4, 0);
  expect_turned_away(contended, 4, "the job has begun");
}

TEST(StartupServer, NewcomerCannotSendAheadWithoutBound) {
  DrivenServer driven(2);
  driven.join(1, 0);
  driven.join(2, 0);
  driven.say(2, Bytes((std::size_t{1} << 20U) + 1));
  expect_turned_away(driven, 2, "it sent too much before it had joined");
}

TEST(StartupServer, ClientStuckBetweenJoiningAndItsLabelsIsNamedAndDropped) {
  DrivenServer driven(2);
  driven.join(1, 0);
  driven.announce(2, 1);
  driven.say(2, command(StartupCommand::kDone));
  driven.pass(std::chrono::seconds(40));
  driven.say(1, encode_coll(0x1000, {}));
  driven.pass(std::chrono::seconds(59));
  EXPECT_FALSE(driven.server.failure().has_value());
  driven.pass(std::chrono::seconds(1));
  ASSERT_TRUE(driven.server.failure().has_value());
  EXPECT_EQ(driven.server.failure()->kind, ErrorKind::kTimeout);
  EXPECT_EQ(driven.server.failure()->text,
            "system 0 at peer 1: it has joined, and then said nothing for 60 s: is it stopped?");
  EXPECT_TRUE(driven.closed(2));
}

TEST(StartupServer, ClientsMayWaitForOthersAsLongAsTheyLike) {
  DrivenServer driven(2);
  driven.join(1, 0);
  driven.pass(std::chrono::hours(48));
  EXPECT_TRUE(driven.server.is_member(1));
  driven.join(2, 1);
  for (const int connection : {1, 2}) driven.say(connection, command(StartupCommand::kDone));
  driven.pass(std::chrono::hours(48));
  EXPECT_FALSE(driven.server.failure().has_value());
}

TEST(StartupServer, ConnectionsThatDoNotJoinAreClosedInTime) {
  DrivenServer driven(1, kBoth);
  for (const int connection : {1, 2, 3}) driven.connect(connection);
  driven.say(2, auth(2));  // KEY, and no key
  driven.say(3, auth(1));  // NONE, and no IMPI
  for (const int connection : {2, 3}) static_cast<void>(driven.take(connection));
  driven.pass(std::chrono::milliseconds(29999));
  for (const int connection : {1, 2, 3}) EXPECT_FALSE(driven.closed(connection));
  driven.pass(std::chrono::milliseconds(1));
  for (const int connection : {1, 2, 3})
    expect_turned_away(driven, connection, "it did not join within 30 s");
}

TEST(StartupServer, StrangersGetALineAMinute) {
  DrivenServer driven(1, kOnlyKey);
  for (int connection = 0; connection < 100; ++connection) {
    driven.connect(connection);
    driven.say(connection, text_bytes("GET / HTTP/1.0\r\n"));
  }
  EXPECT_EQ(driven.told().size(), 1U);
  driven.pass(std::chrono::seconds(60));
  EXPECT_THAT(
      driven.told(),
      ElementsAre(
          "turned away peer 99: it does not speak IMPI (AUTH must come first) (the latest of 99 "
          "within 60 s)"));
  // A peer that has authenticated is no stranger.
  for (const int connection : {200, 201}) {
    driven.connect(connection);
    driven.say(connection, auth(2));
    driven.say(connection, bytes_of(kOnlyKey.key_value));
    driven.say(connection, impi(5));
  }
  EXPECT_EQ(driven.told().size(), 2U);
}

TEST(StartupServer, BytesBeforeJoiningAreBounded) {
  DrivenServer driven(1);
  driven.connect(1);
  driven.say(1, auth(1));
  static_cast<void>(driven.take(1));
  driven.say(1, bytes_of(0x12345678U, 4097U));
  expect_turned_away(driven, 1, "not IMPI");
}

TEST(StartupServer, OnlyConnectionsThatHaveNotAuthenticatedMayBeEvicted) {
  DrivenServer driven(2, kBoth);
  for (const int connection : {1, 2, 3}) driven.connect(connection);
  driven.say(2, auth(2));
  driven.say(3, auth(2));
  driven.say(3, bytes_of(kBoth.key_value));
  EXPECT_FALSE(driven.server.is_authenticated(1));
  EXPECT_FALSE(driven.server.is_authenticated(2));
  EXPECT_TRUE(driven.server.is_authenticated(3));
  driven.server.evicted(2);
  driven.collect();
  EXPECT_THAT(driven.told(), ElementsAre("turned away peer 2: too many connections at once"));
}

}  // namespace
}  // namespace impishim::wire
