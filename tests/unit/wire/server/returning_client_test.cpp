// SPDX-License-Identifier: Apache-2.0
// Clients whose connection to the server is lost after DONE, and that return on another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "tests/unit/wire/startup/support.hpp"
#include "wire/startup/startup_message.hpp"

namespace impishim::wire {
namespace {

using std::chrono::seconds;
using test::auth;
using test::bytes_of;
using test::command;
using test::DrivenServer;
using test::expect_turned_away;
using test::operator+;  // NOLINT(misc-unused-using-decls): clang-tidy 14 overlooks operators
using testing::Contains;
using testing::HasSubstr;

/// A job of two clients after DONE: connection 0 of client 0, and connection 1 of client 1, which
/// may return within ten seconds.
class ReturningClient : public testing::Test {
 protected:
  ReturningClient() {
    driven.connect(1, seconds(10));
    driven.introduce(1, 1);
    driven.announce(0, 0);
    for (const int each : {0, 1}) driven.say(each, command(StartupCommand::kDone));
    driven.told();
    for (const int each : {0, 1}) driven.take(each);
  }

  /// Connects, and says to be that client.
  void come(int connection, std::int32_t client) {
    driven.connect(connection, seconds(10));
    driven.say(connection, auth(1));
    EXPECT_EQ(driven.take(connection), bytes_of(kAuthNone, 0));
    driven.say(connection, command(StartupCommand::kHello) +
                               encode_startup(StartupCommand::kReturn, bytes_of(client)));
    EXPECT_EQ(driven.next(connection).command, static_cast<std::uint32_t>(StartupCommand::kHello));
  }
  void finish(int connection) { driven.say(connection, command(StartupCommand::kFini)); }

  DrivenServer driven{2};
};

TEST_F(ReturningClient, FinishesOnItsNextConnection) {
  driven.hang_up(1);
  EXPECT_FALSE(driven.server.failure().has_value());
  EXPECT_THAT(driven.told(), Contains(HasSubstr("system 1 at peer 1 was lost; it may return")));
  driven.pass(seconds(9));
  come(2, 1);
  EXPECT_THAT(driven.told(), Contains("system 1 has returned, from peer 2"));
  driven.pass(seconds(60));
  EXPECT_FALSE(driven.server.failure().has_value());
  finish(2);
  EXPECT_TRUE(driven.closed(2));
  finish(0);
  EXPECT_TRUE(driven.server.finished());
}

TEST_F(ReturningClient, IsLostIfItComesTooLate) {
  driven.hang_up(1);
  driven.pass(seconds(11));
  ASSERT_TRUE(driven.server.failure().has_value());
  EXPECT_EQ(driven.server.failure()->text,
            "system 1 at peer 1 was lost: it did not return within 10 s");
  come(2, 1);
  EXPECT_TRUE(driven.closed(2));
}

TEST_F(ReturningClient, OfThisMachineIsLostAtOnce) {
  driven.hang_up(0);
  ASSERT_TRUE(driven.server.failure().has_value());
  EXPECT_THAT(driven.server.failure()->text, HasSubstr("system 0 at peer 0 was lost"));
}

TEST_F(ReturningClient, IsLostWhenItsProcessesHaveEnded) {
  driven.hang_up(1);
  driven.server.ended(0);
  EXPECT_FALSE(driven.server.failure().has_value()) << "system 0 is connected";
  driven.server.ended(1);
  ASSERT_TRUE(driven.server.failure().has_value());
  EXPECT_EQ(driven.server.failure()->text, "system 1 at peer 1 was lost: its processes have ended");
}

/// The confirmation of its FINI was lost.
TEST_F(ReturningClient, MayFinishTwice) {
  finish(1);
  driven.hang_up(1);
  come(2, 1);
  EXPECT_TRUE(driven.closed(2));
  EXPECT_FALSE(driven.server.finished());
  finish(0);
  EXPECT_TRUE(driven.server.finished());
}

/// Without a key, anybody could take the place of a client.
TEST_F(ReturningClient, DoesNotDisplaceOneThatIsConnected) {
  come(2, 1);
  expect_turned_away(driven, 2, "system 1 is still connected");
  finish(1);
  finish(0);
  EXPECT_TRUE(driven.server.finished());
}

TEST_F(ReturningClient, MustBeOneOfTheJob) {
  for (const std::int32_t client : {-1, 2}) {
    come(5 + client, client);
    EXPECT_TRUE(driven.closed(5 + client)) << client;
  }
  EXPECT_FALSE(driven.server.failure().has_value());
}

}  // namespace
}  // namespace impishim::wire
