// SPDX-License-Identifier: Apache-2.0
#include "wire/monitor/monitor_hub.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <utility>
#include <vector>

namespace impishim::wire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = MonitorAction::Kind;

constexpr int kAsker = 100;

std::vector<std::byte> state_of(std::int32_t rank) {
  ProcessState state;
  state.rank = rank;
  return encode(state);
}

std::vector<std::byte> answer_of(std::uint32_t number, std::int32_t rank) {
  ProcessState state;
  state.rank = rank;
  return encode_answer(number, state);
}

/// A hub with processes of these ranks on connections of the same numbers plus one, and a question
/// that has been passed on.
class Asked : public testing::Test {
 protected:
  void ask(std::int32_t processes) {
    for (std::int32_t rank = 0; rank < processes; ++rank)
      ASSERT_TRUE(hub.add_process(rank + 1, {0, rank, 8}));
    ASSERT_TRUE(hub.ask(kAsker, kWantsCalls, now));
    const auto actions = hub.take_actions();
    ASSERT_THAT(actions, SizeIs(static_cast<std::size_t>(processes)));
    for (const MonitorAction& each : actions) {
      EXPECT_EQ(each.kind, Kind::kQuestion);
      number = decode_monitor_question(each.payload)->number;
    }
  }
  MonitorEnd take_end() {
    const auto actions = hub.take_actions();
    EXPECT_FALSE(actions.empty());
    if (actions.empty() || actions.back().kind != Kind::kEnd) return {};
    EXPECT_EQ(actions.back().connection, kAsker);
    return decode_monitor_end(actions.back().payload).value();
  }

  MonitorHub hub;
  MonitorHub::Clock::time_point now{std::chrono::seconds(1)};
  std::uint32_t number = 0;
};

TEST_F(Asked, PassesAnswersOnAndEnds) {
  ask(2);
  EXPECT_TRUE(hub.answer(1, answer_of(number, 0)));
  const auto actions = hub.take_actions();
  ASSERT_THAT(actions, SizeIs(1));
  EXPECT_EQ(actions[0].kind, Kind::kAnswer);
  EXPECT_EQ(actions[0].payload, state_of(0));
  EXPECT_TRUE(hub.answer(2, answer_of(number, 1)));
  EXPECT_EQ(take_end(), (MonitorEnd{8, 2, {}}));
  EXPECT_FALSE(hub.next_limit());
}

TEST_F(Asked, NamesThoseThatAreSilent) {
  ask(3);
  EXPECT_TRUE(hub.answer(2, answer_of(number, 1)));
  static_cast<void>(hub.take_actions());
  EXPECT_EQ(hub.next_limit(), now + MonitorHub::kPatience);
  hub.at(now + MonitorHub::kPatience - std::chrono::milliseconds(1));
  EXPECT_THAT(hub.take_actions(), IsEmpty());
  hub.at(now + MonitorHub::kPatience);
  EXPECT_EQ(take_end(), (MonitorEnd{8, 3, {0, 2}}));
  EXPECT_TRUE(hub.answer(1, answer_of(number, 0)));  // too late
  EXPECT_THAT(hub.take_actions(), IsEmpty());
}

TEST_F(Asked, AProcessThatLeavesIsSilent) {
  ask(2);
  EXPECT_TRUE(hub.answer(1, answer_of(number, 0)));
  static_cast<void>(hub.take_actions());
  hub.remove(2);
  EXPECT_EQ(take_end(), (MonitorEnd{8, 2, {1}}));
  EXPECT_EQ(hub.processes(), 1U);
}

TEST_F(Asked, WithoutProcessesTheEndComesAtOnce) {
  ASSERT_TRUE(hub.ask(kAsker, kWantsAll, now));
  EXPECT_EQ(take_end(), MonitorEnd());
}

TEST_F(Asked, AnAskerAsksOneQuestionAtATime) {
  ask(1);
  EXPECT_FALSE(hub.ask(kAsker, kWantsCalls, now));
  EXPECT_TRUE(hub.ask(kAsker + 1, kWantsCalls, now));
}

TEST_F(Asked, AnAskerThatLeavesGetsNothing) {
  ask(1);
  hub.remove(kAsker);
  EXPECT_TRUE(hub.answer(1, answer_of(number, 0)));
  EXPECT_THAT(hub.take_actions(), IsEmpty());
}

TEST_F(Asked, AnAnswerForAnotherRankIsRefused) {
  ask(2);
  EXPECT_FALSE(hub.answer(1, answer_of(number, 1)));
  EXPECT_FALSE(hub.answer(1, std::vector<std::byte>(3)));
  EXPECT_FALSE(hub.answer(7, answer_of(number, 0)));
}

TEST_F(Asked, AProcessThatComesAgainTakesItsPlace) {
  ask(1);
  ASSERT_TRUE(hub.add_process(9, {0, 0, 8}));
  EXPECT_EQ(take_end(), (MonitorEnd{8, 1, {0}}));
  EXPECT_EQ(hub.processes(), 1U);
}

TEST(MonitorHub, HasLimits) {
  MonitorHub hub;
  for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(MonitorHub::kMostProcesses); ++rank)
    ASSERT_TRUE(hub.add_process(rank, {0, rank, 1000}));
  EXPECT_FALSE(hub.add_process(999, {0, 999, 1000}));
  EXPECT_TRUE(hub.add_process(1000, {0, 3, 1000}));
  EXPECT_FALSE(hub.add_process(1001, {0, 4, 1001}));
}

}  // namespace
}  // namespace impishim::wire
