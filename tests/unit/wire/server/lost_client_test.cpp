// SPDX-License-Identifier: Apache-2.0
// Clients that are lost after DONE, while the others say that they go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "tests/unit/wire/startup/support.hpp"
#include "wire/startup/startup_message.hpp"

namespace impishim::wire {
namespace {

using std::chrono::seconds;
using test::bytes_of;
using test::command;
using test::DrivenServer;
using testing::Contains;
using testing::HasSubstr;

/// A job of three clients after DONE; connection and client have the same number. Client 2 may
/// return.
class LostClient : public testing::Test {
 protected:
  LostClient() {
    driven.connect(2, seconds(10));
    driven.introduce(2, 2);
    for (const int each : {0, 1}) driven.announce(each, each);
    for (const int each : {0, 1, 2}) driven.say(each, command(StartupCommand::kDone));
    driven.told();
    for (const int each : {0, 1, 2}) driven.take(each);
  }
  void goes_on(int connection, std::uint32_t value = 1) {
    driven.say(connection, encode_startup(StartupCommand::kGoesOn, bytes_of(value)));
  }
  void finish(int connection) { driven.say(connection, command(StartupCommand::kFini)); }

  DrivenServer driven{3};
};

TEST_F(LostClient, IsLeftBehindIfAllOthersGoOn) {
  goes_on(0);
  goes_on(2);
  driven.hang_up(1);
  EXPECT_FALSE(driven.server.failure().has_value());
  EXPECT_THAT(driven.told(), Contains(HasSubstr("system 1 at peer 1 was lost: its connection ended "
                                                "without FINI; the others go on without it")));
  EXPECT_FALSE(driven.server.finished());
  finish(0);
  finish(2);
  EXPECT_TRUE(driven.server.finished());
  ASSERT_TRUE(driven.server.loss().has_value());
  EXPECT_THAT(driven.server.loss()->text, HasSubstr("system 1"));
}

TEST_F(LostClient, EndsTheJobIfOneOtherDoesNotGoOn) {
  goes_on(0);
  driven.hang_up(1);
  ASSERT_TRUE(driven.server.failure().has_value());
  EXPECT_THAT(driven.server.failure()->text, HasSubstr("system 1 at peer 1 was lost"));
}

TEST_F(LostClient, EndsTheJobIfOneOtherHasChangedItsMind) {
  goes_on(0);
  goes_on(2);
  goes_on(0, 0);
  driven.hang_up(1);
  EXPECT_TRUE(driven.server.failure().has_value());
}

TEST_F(LostClient, FinishedOnesNeedNotGoOn) {
  finish(0);
  goes_on(2);
  driven.hang_up(1);
  EXPECT_FALSE(driven.server.failure().has_value());
  finish(2);
  EXPECT_TRUE(driven.server.finished());
}

/// The server may hear of the end of its connection after the others have finished.
TEST_F(LostClient, MayBeSeenToBeLostLate) {
  goes_on(0);
  goes_on(2);
  finish(0);
  finish(2);
  driven.hang_up(1);
  EXPECT_FALSE(driven.server.failure().has_value());
  EXPECT_TRUE(driven.server.finished());
  EXPECT_TRUE(driven.server.loss().has_value());
}

TEST_F(LostClient, LastOneIsNotLeftBehind) {
  for (const int each : {0, 1, 2}) goes_on(each);
  driven.hang_up(1);
  driven.hang_up(0);
  driven.hang_up(2);
  EXPECT_FALSE(driven.server.failure().has_value()) << "it may return";
  driven.pass(seconds(11));
  ASSERT_TRUE(driven.server.failure().has_value());
  EXPECT_THAT(driven.server.failure()->text, HasSubstr("system 2"));
}

TEST_F(LostClient, IsLeftBehindWhenItDoesNotReturn) {
  goes_on(0);
  goes_on(1);
  driven.hang_up(2);
  EXPECT_FALSE(driven.server.loss().has_value());
  driven.pass(seconds(11));
  EXPECT_FALSE(driven.server.failure().has_value());
  ASSERT_TRUE(driven.server.loss().has_value());
  EXPECT_THAT(driven.server.loss()->text, HasSubstr("it did not return within 10 s"));
}

TEST_F(LostClient, WordThatCannotBeReadEndsTheJob) {
  driven.say(0, encode_startup(StartupCommand::kGoesOn, {}));
  EXPECT_TRUE(driven.server.failure().has_value());
}

TEST_F(LostClient, WordBeforeDoneIsSkipped) {
  DrivenServer early(2);
  early.announce(0, 0);
  early.announce(1, 1);
  early.say(0, encode_startup(StartupCommand::kGoesOn, bytes_of(std::uint32_t{1})));
  for (const int each : {0, 1}) early.say(each, command(StartupCommand::kDone));
  early.hang_up(1);
  EXPECT_TRUE(early.server.failure().has_value());
}

}  // namespace
}  // namespace impishim::wire
