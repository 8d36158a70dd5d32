// SPDX-License-Identifier: Apache-2.0
// A thread that looks for more before it sleeps, and one that shares its processor with a thread
// that computes.
#include "wire/progress/spin_policy.hpp"

#include <gtest/gtest.h>

namespace impishim::wire {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class LooksForMore : public testing::Test {
 protected:
  /// A look `later` than the last one.
  bool look(std::chrono::nanoseconds later, bool found) {
    now += later;
    return spin_policy.should_spin(now, found);
  }
  /// Looks that find something, each after a yield that took so long. True: all of them paid.
  bool keeps_looking(int looks, std::chrono::nanoseconds yield) {
    bool paid = true;
    for (int i = 0; i < looks; ++i) paid = look(yield, true) && paid;
    return paid;
  }

  void finds_a_thread_that_computes() {
    EXPECT_TRUE(keeps_looking(SpinPolicy::kLongYieldsThatTell - 1, milliseconds(4)));
    EXPECT_FALSE(look(milliseconds(4), true));
  }
  /// It sleeps between any two finds, whatever time passes, and then tries again.
  void expect_inattention(milliseconds length) {
    const auto end = now + length;
    while (now + milliseconds(9) < end) ASSERT_FALSE(look(milliseconds(9), true));
    EXPECT_TRUE(look(milliseconds(9), true));
  }

  SpinPolicy spin_policy;
  SpinPolicy::Clock::time_point now{seconds(1000)};
};

TEST_F(LooksForMore, ForAWhileAfterEachFind) {
  EXPECT_FALSE(look(microseconds(1), false));
  EXPECT_TRUE(look(microseconds(1), true));
  EXPECT_TRUE(look(SpinPolicy::kSpinTime - microseconds(1), false));
  EXPECT_FALSE(look(microseconds(1), false));
  EXPECT_TRUE(look(seconds(1), true));
}

TEST_F(LooksForMore, UntilYieldsTellOfAThreadThatComputes) {
  ASSERT_TRUE(look(seconds(1), true));
  // For longer each time that it tries again and finds that thread still there.
  for (auto rest = SpinPolicy::kShortestRest; rest < SpinPolicy::kLongestRest;
       rest *= SpinPolicy::kBackoffFactor) {
    finds_a_thread_that_computes();
    expect_inattention(rest);
  }
  for (int i = 0; i < 3; ++i) {
    finds_a_thread_that_computes();
    expect_inattention(SpinPolicy::kLongestRest);
  }
}

TEST_F(LooksForMore, AsBeforeWhenThatThreadHasGone) {
  ASSERT_TRUE(look(seconds(1), true));
  for (int i = 0; i < 4; ++i) {
    finds_a_thread_that_computes();
    expect_inattention(SpinPolicy::kShortestRest);
    spin_policy.reset();
    ASSERT_TRUE(look(SpinPolicy::kShortestRest, true));
  }
}

TEST_F(LooksForMore, WhateverShortYieldsLieBetweenTheLongOnes) {
  ASSERT_TRUE(look(seconds(1), true));
  for (int i = 0; i < SpinPolicy::kLongYieldsThatTell - 1; ++i) {
    EXPECT_TRUE(look(milliseconds(4), true));
    EXPECT_TRUE(keeps_looking(100, microseconds(2)));
  }
  EXPECT_FALSE(look(milliseconds(4), true));
}

TEST_F(LooksForMore, WhenYieldsTakeLongNowAndThen) {
  ASSERT_TRUE(look(seconds(1), true));
  for (int i = 0; i < 10 * SpinPolicy::kLongYieldsThatTell; ++i) {
    EXPECT_TRUE(look(milliseconds(4), true));
    EXPECT_TRUE(keeps_looking(1000, microseconds(20)));
  }
}

TEST_F(LooksForMore, WhenYieldsAreShort) {
  EXPECT_TRUE(keeps_looking(100000, SpinPolicy::kLongYield));
}

TEST_F(LooksForMore, WhenSomebodyElseLookedMeanwhile) {
  for (int i = 0; i < 10 * SpinPolicy::kLongYieldsThatTell; ++i) {
    EXPECT_TRUE(look(milliseconds(4), true));
    spin_policy.reset();
  }
}

TEST_F(LooksForMore, WhenItHasSlept) {
  for (int i = 0; i < 10 * SpinPolicy::kLongYieldsThatTell; ++i) {
    EXPECT_TRUE(look(milliseconds(4), true));
    EXPECT_FALSE(look(SpinPolicy::kSpinTime, false));
  }
}

}  // namespace
}  // namespace impishim::wire
