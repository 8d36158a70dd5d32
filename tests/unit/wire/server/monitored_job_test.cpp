// SPDX-License-Identifier: Apache-2.0
// Monitoring through the rendezvous server: processes that answer, and programs that ask.
#include <gmock/gmock.h>

#include "tests/unit/wire/startup/support.hpp"
#include "wire/monitor/monitor_hub.hpp"
#include "wire/monitor/monitor_message.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::bytes_of;
using test::DrivenServer;
using test::expect_turned_away;

constexpr int kProcess = 10;
constexpr int kAsker = 20;

std::uint32_t number_of(StartupCommand command) { return static_cast<std::uint32_t>(command); }

class MonitoredJob : public testing::Test {
 protected:
  /// Both clients of the job join.
  void begin_job() {
    driven.announce(1, 0);
    driven.announce(2, 1);
  }
  /// A new connection that says this instead of IMPI.
  void say_first(int connection, StartupCommand command, const Bytes& payload) {
    driven.connect(connection);
    driven.say(connection, encode_startup(StartupCommand::kAuth, bytes_of(1U << kAuthNone)));
    static_cast<void>(driven.take(connection));
    driven.say(connection, encode_startup(StartupCommand::kHello, {}));
    static_cast<void>(driven.take(connection));
    driven.say(connection, encode_startup(command, payload));
  }
  void watch(std::int32_t rank) {
    say_first(kProcess + rank, StartupCommand::kMonitor, encode(MonitorHello{0, rank, 4}));
    EXPECT_EQ(driven.next(kProcess + rank).command, number_of(StartupCommand::kMonitor));
  }
  /// The number of the question that a process was asked.
  std::uint32_t asked(std::int32_t rank) {
    const StartupMessage message = driven.next(kProcess + rank);
    EXPECT_EQ(message.command, number_of(StartupCommand::kQuestion));
    const auto question = decode_monitor_question(message.payload);
    return question ? question->number : 0;
  }
  void answer(std::int32_t rank, std::uint32_t number) {
    ProcessState state;
    state.rank = rank;
    driven.say(kProcess + rank,
               encode_startup(StartupCommand::kAnswer, encode_answer(number, state)));
  }
  MonitorEnd end() {
    const StartupMessage message = driven.next(kAsker);
    EXPECT_EQ(message.command, number_of(StartupCommand::kAnswered));
    return decode_monitor_end(message.payload).value_or(MonitorEnd());
  }

  DrivenServer driven{2};
};

TEST_F(MonitoredJob, PassesQuestionsAndAnswersOn) {
  begin_job();
  watch(0);
  watch(3);
  say_first(kAsker, StartupCommand::kQuestion, encode(MonitorQuestion{0, kWantsCalls}));
  answer(3, asked(3));
  const StartupMessage first = driven.next(kAsker);
  EXPECT_EQ(first.command, number_of(StartupCommand::kAnswer));
  EXPECT_EQ(decode_process_state(first.payload)->rank, 3);
  answer(0, asked(0));
  static_cast<void>(driven.next(kAsker));
  EXPECT_EQ(end(), (MonitorEnd{4, 2, {}}));
  // Again, on the same connection.
  driven.say(kAsker,
             encode_startup(StartupCommand::kQuestion, encode(MonitorQuestion{0, kWantsAll})));
  EXPECT_NE(asked(0), 0U);
}

TEST_F(MonitoredJob, DoesNotWaitForAProcessThatIsStopped) {
  begin_job();
  watch(1);
  say_first(kAsker, StartupCommand::kQuestion, encode(MonitorQuestion{0, kWantsCalls}));
  EXPECT_TRUE(driven.nothing_for(kAsker));
  driven.pass(MonitorHub::kPatience);
  EXPECT_EQ(end(), (MonitorEnd{4, 1, {1}}));
}

TEST_F(MonitoredJob, AConnectionThatEndsIsNoLostClient) {
  begin_job();
  watch(1);
  driven.hang_up(kProcess + 1);
  say_first(kAsker, StartupCommand::kQuestion, encode(MonitorQuestion{0, kWantsCalls}));
  EXPECT_EQ(end(), (MonitorEnd{4, 0, {}}));
  driven.hang_up(kAsker);
  EXPECT_FALSE(driven.server.failure());
  for (const std::string& line : driven.told()) EXPECT_EQ(line.find("closed"), std::string::npos);
}

TEST_F(MonitoredJob, SilentConnectionsMayStay) {
  begin_job();
  watch(1);
  // Longer than a connection may take to join, and shorter than clients may be silent.
  driven.pass(std::chrono::seconds(50));
  EXPECT_FALSE(driven.closed(kProcess + 1));
}

TEST_F(MonitoredJob, AQuestionBeforeTheJobBeginsHasNoAnswers) {
  driven.announce(1, 0);
  say_first(kAsker, StartupCommand::kQuestion, encode(MonitorQuestion{0, kWantsCalls}));
  EXPECT_EQ(end(), MonitorEnd());
}

TEST_F(MonitoredJob, AProcessCannotComeBeforeTheJob) {
  driven.announce(1, 0);
  say_first(kProcess, StartupCommand::kMonitor, encode(MonitorHello{0, 0, 4}));
  expect_turned_away(driven, kProcess, "before the job has begun");
}

TEST_F(MonitoredJob, WrongMessagesAreTurnedAway) {
  begin_job();
  say_first(kProcess, StartupCommand::kMonitor, encode(MonitorHello{2, 0, 4}));
  expect_turned_away(driven, kProcess, "a process that does not exist");
  say_first(kAsker, StartupCommand::kQuestion, bytes_of(0U, 0U));
  expect_turned_away(driven, kAsker, "a question that cannot be answered");
  watch(1);
  driven.say(kProcess + 1, encode_startup(StartupCommand::kAnswer, bytes_of(1U, 99U)));
  expect_turned_away(driven, kProcess + 1, "bytes that cannot be read");
}

TEST_F(MonitoredJob, ASecondQuestionAtOnceIsTurnedAway) {
  begin_job();
  watch(1);
  say_first(kAsker, StartupCommand::kQuestion, encode(MonitorQuestion{0, kWantsCalls}));
  driven.say(kAsker,
             encode_startup(StartupCommand::kQuestion, encode(MonitorQuestion{0, kWantsCalls})));
  expect_turned_away(driven, kAsker, "a question that cannot be answered");
  answer(1, asked(1));
  EXPECT_FALSE(driven.server.failure());
}

TEST_F(MonitoredJob, WithoutTheAnnouncementNothingIsSaid) {
  begin_job();
  driven.connect(kAsker);
  driven.say(kAsker, encode_startup(StartupCommand::kAuth, bytes_of(1U << kAuthNone)));
  static_cast<void>(driven.take(kAsker));
  driven.say(kAsker,
             encode_startup(StartupCommand::kQuestion, encode(MonitorQuestion{0, kWantsCalls})));
  EXPECT_TRUE(driven.nothing_for(kAsker));
}

}  // namespace
}  // namespace impishim::wire
