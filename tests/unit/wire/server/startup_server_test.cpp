// SPDX-License-Identifier: Apache-2.0
// The server's side: authentication, who joins, how it ends.
#include "wire/server/startup_server.hpp"

#include <gmock/gmock.h>

#include "tests/unit/wire/startup/support.hpp"

namespace impishim::wire {
namespace {

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

TEST(StartupServer, AnswersAuthWithTheMethodItPrefers) {
  struct Case {
    std::vector<std::int32_t> preference;
    std::uint32_t mask;
    std::int32_t chosen;
  };
  for (const Case& each : {Case{{1, 0}, 3, kAuthKey}, Case{{0, 1}, 3, kAuthNone},
                           Case{{3, 1, 0}, 3, kAuthKey}, Case{{1, 0}, 1, kAuthNone},
                           Case{{0, 1}, 2, kAuthKey}, Case{{31, 0}, 0xFFFFFFFF, kAuthNone}}) {
    DrivenServer driven(1, kBoth, each.preference);
    driven.connect(7);
    driven.say(7, auth(each.mask));
    EXPECT_EQ(driven.take(7), bytes_of(each.chosen, 0));
  }
}

TEST(StartupServer, TakesMoreThanOneMask) {
  DrivenServer driven(1);
  driven.connect(1);
  driven.say(1, encode_startup(StartupCommand::kAuth, bytes_of(1U, 0xFFFFFFFFU, 0U)));
  EXPECT_EQ(driven.take(1), bytes_of(kAuthNone, 0));
}

TEST(StartupServer, KeyFollowsUnframedAndGetsNoAnswer) {
  DrivenServer driven(1, kBoth);
  driven.connect(1);
  Bytes all = auth(3);
  for (const Bytes& part : {bytes_of(kBoth.key_value), impi(0)})
    all.insert(all.end(), part.begin(), part.end());
  for (const std::byte each : all) driven.say(1, {each});
  EXPECT_EQ(driven.take(1), [] {
    Bytes expected = bytes_of(kAuthKey, 0);
    const Bytes size = encode_startup(StartupCommand::kImpi, bytes_of(1));
    expected.insert(expected.end(), size.begin(), size.end());
    return expected;
  }());
  EXPECT_THAT(driven.told(), ElementsAre("1 of 1 systems have joined"));
}

TEST(StartupServer, WrongKeyIsTurnedAway) {
  DrivenServer driven(1, kOnlyKey);
  driven.connect(1);
  driven.say(1, auth(3));
  EXPECT_EQ(driven.take(1), bytes_of(kAuthKey, 0));
  driven.say(1, bytes_of(kOnlyKey.key_value + 1));
  expect_turned_away(driven, 1, "wrong authentication key");
  EXPECT_THAT(driven.told(),
              ElementsAre("turned away peer 1: wrong authentication key (IMPI_AUTH_KEY)"));
  driven.say(1, impi(0));
  EXPECT_EQ(driven.server.joined(), 0);
}

TEST(StartupServer, NoCommonMethodIsTurnedAway) {
  for (const std::uint32_t mask : {0U, 1U, 4U, 0xFFFFFFFDU}) {
    DrivenServer driven(1, kOnlyKey);
    driven.connect(1);
    driven.say(1, auth(mask));
    expect_turned_away(driven, 1, "no authentication method in common");
  }
}

TEST(StartupServer, WarnsOfNoneWithTheAddress) {
  DrivenServer driven(1);
  driven.connect(4);
  driven.say(4, auth(1));
  driven.say(4, impi(0));
  EXPECT_THAT(driven.told(), ElementsAre("Warning: peer 4 has authenticated with IMPI_AUTH_NONE.",
                                         "1 of 1 systems have joined"));
}

TEST(StartupServer, AuthComesFirst) {
  for (const Bytes& first :
       {impi(0), command(StartupCommand::kDone), text_bytes("GET / HTTP/1.0\r\n"), text_bytes("X"),
        text_bytes(std::string("AUTH\0\1\0\0", 8))}) {
    DrivenServer driven(1);
    driven.connect(1);
    driven.say(1, first);
    expect_turned_away(driven, 1, "it does not speak IMPI (AUTH must come first)");
  }
  for (const std::size_t size : {0U, 3U, 6U}) {
    DrivenServer driven(1);
    driven.connect(1);
    driven.say(1, encode_startup(StartupCommand::kAuth, Bytes(size)));
    expect_turned_away(driven, 1, "AUTH without a mask");
  }
}

TEST(StartupServer, ClientsJoinInAnyOrderAndHearTogether) {
  DrivenServer driven(3);
  driven.join(10, 2);
  driven.join(11, 0);
  EXPECT_TRUE(driven.nothing_for(10));
  EXPECT_FALSE(driven.server.all_joined());
  EXPECT_EQ(driven.server.progress(), "2 of 3 systems have joined; missing: 1");
  driven.join(12, 1);
  EXPECT_TRUE(driven.server.all_joined());
  for (const int connection : {10, 11, 12}) {
    EXPECT_EQ(driven.take(connection), encode_startup(StartupCommand::kImpi, bytes_of(3)));
  }
}

TEST(StartupServer, NumberTakenOrOutOfRangeIsTurnedAway) {
  DrivenServer driven(2);
  driven.join(1, 1);
  driven.join(2, 1);
  driven.answer_probe(1);
  expect_turned_away(driven, 2, "system 1 has joined already, from peer 1");
  int connection = 3;
  for (const std::int32_t number : {2, -1, INT32_MAX, INT32_MIN}) {
    driven.join(connection, number);
    expect_turned_away(driven, connection++, "does not exist: this job has systems 0 to 1");
  }
  driven.hang_up(2);
  driven.join(connection, 0);
  EXPECT_TRUE(driven.server.all_joined());
  EXPECT_FALSE(driven.server.failure().has_value());
}

TEST(StartupServer, ShortImpiIsTurnedAway) {
  DrivenServer driven(1);
  driven.connect(1);
  driven.say(1, auth(1));
  static_cast<void>(driven.take(1));
  driven.say(1, encode_startup(StartupCommand::kImpi, Bytes(3)));
  expect_turned_away(driven, 1, "does not exist");
}

TEST(StartupServer, ReplacementBeforeAllHaveJoined) {
  DrivenServer driven(2);
  driven.join(1, 0);
  driven.say(1, encode_coll(0x1000, bytes_of(9U)));
  driven.hang_up(1);
  EXPECT_EQ(driven.server.joined(), 0);
  driven.join(2, 0);
  driven.join(3, 1);
  static_cast<void>(driven.take(2));
  for (const int connection : {2, 3}) driven.say(connection, encode_coll(0x1000, bytes_of(1U)));
  // Nothing of the first client 0 is left.
  EXPECT_EQ(driven.next(2).payload, bytes_of(0x1000U, 3U, 1U, 1U));
}

TEST(StartupServer, DoneIsAnsweredWhenAllAreDone) {
  DrivenServer driven(2);
  driven.join(1, 0);
  driven.join(2, 1);
  for (const int connection : {1, 2}) static_cast<void>(driven.take(connection));
  driven.say(1, command(StartupCommand::kDone));
  EXPECT_TRUE(driven.nothing_for(1));
  driven.say(2, command(StartupCommand::kDone));
  for (const int connection : {1, 2})
    EXPECT_EQ(driven.take(connection), command(StartupCommand::kDone));
}

/// Two clients after DONE.
void start(DrivenServer& driven) {
  driven.join(1, 0);
  driven.join(2, 1);
  for (const int connection : {1, 2}) driven.say(connection, command(StartupCommand::kDone));
  for (const int connection : {1, 2}) static_cast<void>(driven.take(connection));
}

TEST(StartupServer, FiniIsAnsweredByClosing) {
  DrivenServer driven(2);
  start(driven);
  driven.say(1, command(StartupCommand::kFini));
  EXPECT_TRUE(driven.closed(1));
  driven.hang_up(1);
  EXPECT_FALSE(driven.closed(2));
  EXPECT_FALSE(driven.server.finished());
  driven.say(2, command(StartupCommand::kFini));
  driven.hang_up(2);
  EXPECT_TRUE(driven.server.finished());
  EXPECT_FALSE(driven.server.failure().has_value());
}

TEST(StartupServer, LossWithoutFiniEndsTheJob) {
  DrivenServer driven(2);
  start(driven);
  driven.hang_up(1);
  ASSERT_TRUE(driven.server.failure().has_value());
  EXPECT_EQ(driven.server.failure()->kind, ErrorKind::kConnection);
  EXPECT_EQ(driven.server.failure()->text,
            "system 0 at peer 1 was lost: its connection ended without FINI");
  expect_turned_away(driven, 2, "system 0 at peer 1 was lost");
  EXPECT_FALSE(driven.server.finished());
}

TEST(StartupServer, FirstCauseIsKept) {
  DrivenServer driven(2);
  start(driven);
  driven.hang_up(2);
  driven.hang_up(1);
  EXPECT_THAT(driven.server.failure()->text, HasSubstr("system 1 at peer 2"));
}

TEST(StartupServer, CommandsOutOfPlaceOrUnknownAreSkipped) {
  DrivenServer driven(2);
  driven.connect(1);
  driven.say(1, auth(1));
  static_cast<void>(driven.take(1));
  const auto unknown = static_cast<StartupCommand>(0x12345678);
  for (const Bytes& each : {encode_startup(unknown, Bytes(1000)), command(StartupCommand::kDone),
                            command(StartupCommand::kFini), encode_coll(0x1000, {}), impi(0),
                            encode_startup(unknown, {}), impi(1), command(StartupCommand::kFini)}) {
    driven.say(1, each);
  }
  driven.join(2, 1);
  EXPECT_EQ(driven.take(1), encode_startup(StartupCommand::kImpi, bytes_of(2)));
  for (const int connection : {1, 2}) driven.say(connection, command(StartupCommand::kDone));
  EXPECT_EQ(driven.take(1), command(StartupCommand::kDone));  // the early COLL was not kept
  driven.say(1, encode_startup(unknown, Bytes(10)));
  driven.say(1, encode_coll(0x1000, {}));
  EXPECT_TRUE(driven.nothing_for(1));
  EXPECT_FALSE(driven.server.failure().has_value());
}

TEST(StartupServer, StrangersComeAndGo) {
  DrivenServer driven(1);
  driven.connect(1);
  driven.hang_up(1);
  EXPECT_TRUE(driven.told().empty());
  driven.connect(2);
  driven.say(2, text_bytes("AUT"));
  driven.hang_up(2);
  EXPECT_THAT(driven.told(), ElementsAre("peer 2 closed before it had joined"));
  EXPECT_FALSE(driven.server.is_member(2));
  driven.join(3, 0);
  EXPECT_TRUE(driven.server.is_member(3));
  driven.say(99, auth(1));
  driven.hang_up(99);
}

TEST(StartupServer, GivingUpTellsEverybody) {
  DrivenServer driven(3);
  driven.join(1, 0);
  driven.connect(2);
  driven.server.give_up("too late");
  driven.collect();
  expect_turned_away(driven, 1, "too late");
  expect_turned_away(driven, 2, "too late");
}

TEST(StartupServer, ClientThatEndedCannotBeWaitedFor) {
  DrivenServer driven(3);
  driven.server.ended(1);
  EXPECT_FALSE(driven.server.failure().has_value());
  driven.join(1, 2);
  ASSERT_TRUE(driven.server.failure().has_value());
  EXPECT_EQ(driven.server.failure()->text,
            "system 1 ended before it had joined; 1 of 3 systems have joined; missing: 0, 1");
  expect_turned_away(driven, 1, "system 1 ended before it had joined");
}

TEST(StartupServer, ClientThatEndedAfterJoiningIsLostByItsConnection) {
  DrivenServer driven(2);
  driven.join(1, 0);
  driven.server.ended(0);
  EXPECT_FALSE(driven.server.failure().has_value());
  driven.hang_up(1);
  EXPECT_FALSE(driven.server.failure().has_value());  // nobody waits yet
  driven.join(2, 1);
  EXPECT_TRUE(driven.server.failure().has_value());
}

TEST(StartupServer, NobodyCame) {
  DrivenServer driven(2);
  driven.server.ended(1);
  EXPECT_FALSE(driven.server.nobody_came());
  driven.server.ended(0);
  EXPECT_TRUE(driven.server.nobody_came());
  EXPECT_FALSE(driven.server.failure().has_value());
}

TEST(Preference, ListsAndRanges) {
  const auto parsed = [](const char* text) { return *parse_preference(text); };
  EXPECT_THAT(parsed("0"), ElementsAre(0));
  EXPECT_THAT(parsed("1,0"), ElementsAre(1, 0));
  EXPECT_THAT(parsed("3,1-0"), ElementsAre(3, 1, 0));
  EXPECT_THAT(parsed("0-2,31"), ElementsAre(0, 1, 2, 31));
  EXPECT_THAT(parsed("5-5"), ElementsAre(5));
}

TEST(Preference, AnythingElseIsRefused) {
  for (const char* text :
       {"", ",", "1,", ",1", "a", "1-", "-1", "1--2", "32", "1 ,0", "0x1", "1;0", "99999999999"}) {
    auto parsed = parse_preference(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kConfiguration);
    EXPECT_THAT(parsed.error().text, HasSubstr(text));
  }
}

}  // namespace
}  // namespace impishim::wire
