// SPDX-License-Identifier: Apache-2.0
#include "wire/resume/answer_watch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace impishim::wire {
namespace {

using std::chrono::seconds;
using enum AnswerWatch::Advice;

/// Checks every three seconds, as the progress thread does.
class AnswerWatchTest : public testing::Test {
 protected:
  AnswerWatch::Advice check(std::uint64_t heard, seconds later = seconds(3)) {
    now += later;
    return watch.observe(now, heard, taken);
  }

  AnswerWatch watch{seconds(10)};
  std::uint64_t taken = 0;
  AnswerWatch::Clock::time_point now;
};

TEST_F(AnswerWatchTest, AsksOnceAndThenGivesUp) {
  EXPECT_EQ(check(5), kWait);
  EXPECT_EQ(check(5), kAsk);
  EXPECT_EQ(check(5), kAsk);
  watch.asked();
  EXPECT_EQ(check(5), kWait);
  EXPECT_EQ(check(5), kGiveUp);
}

/// The peer's machine takes the question, and its process does not answer.
TEST_F(AnswerWatchTest, AQuestionThatArrivesIsNoAnswer) {
  EXPECT_EQ(check(5), kWait);
  EXPECT_EQ(check(5), kAsk);
  watch.asked();
  ++taken;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(check(5), kWait);
  EXPECT_EQ(check(5), kGiveUp);
}

TEST_F(AnswerWatchTest, ARoadThatMovesIsWaitedFor) {
  EXPECT_EQ(check(5), kWait);
  EXPECT_EQ(check(5), kAsk);
  watch.asked();
  for (int i = 0; i < 100; ++i) {
    ++taken;
    EXPECT_EQ(check(5), kWait);
  }
}

TEST_F(AnswerWatchTest, GivesUpAPeerThatCannotBeAsked) {
  EXPECT_EQ(check(5), kWait);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(check(5), kAsk);
  EXPECT_EQ(check(5), kGiveUp);
}

TEST_F(AnswerWatchTest, AnAnswerEndsTheSilence) {
  std::uint64_t heard = 0;
  EXPECT_EQ(check(heard), kWait);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(check(heard), kAsk);
    watch.asked();
    EXPECT_EQ(check(heard), kWait);
    EXPECT_EQ(check(++heard), kWait);
  }
}

TEST_F(AnswerWatchTest, APauseOfItsOwnSaysNothing) {
  EXPECT_EQ(check(5), kWait);
  EXPECT_EQ(check(5), kAsk);
  EXPECT_EQ(check(5, seconds(1000)), kWait);
  EXPECT_EQ(check(5), kAsk);
}

TEST_F(AnswerWatchTest, ANewConnectionBeginsAgain) {
  EXPECT_EQ(check(5), kWait);
  EXPECT_EQ(check(5), kAsk);
  for (int i = 0; i < 5; ++i) {
    watch.reset();
    EXPECT_EQ(check(5), kWait);
    EXPECT_EQ(check(5), kAsk);
  }
}

TEST_F(AnswerWatchTest, WithoutALimitNothingIsAsked) {
  watch = AnswerWatch(seconds(0));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(check(5), kWait);
}

}  // namespace
}  // namespace impishim::wire
