// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/silence.hpp"

#include <gtest/gtest.h>

namespace impishim::wire {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A connection observed as often as it should be, in time that the test makes.
class SilenceTest : public testing::Test {
 protected:
  /// Observes `length` of a state in which the last answer gets older. Returns after how long the
  /// peer counted as gone.
  std::optional<milliseconds> observe(milliseconds length, bool unanswered) {
    for (milliseconds passed{0}; passed < length; passed += kSilenceCheckInterval) {
      now_ += kSilenceCheckInterval;
      since_ack_ += kSilenceCheckInterval;
      if (detector_.observe(now_, {unanswered, since_ack_})) return passed + kSilenceCheckInterval;
    }
    return std::nullopt;
  }
  void answered() { since_ack_ = milliseconds(0); }

  SilenceDetector detector_;
  SilenceDetector::Clock::time_point now_;
  milliseconds since_ack_{0};
};

TEST_F(SilenceTest, AMachineThatIsGoneIsNoticedInTime) {
  const auto noticed = observe(seconds(60), true);
  ASSERT_TRUE(noticed);
  EXPECT_LE(*noticed, kDeadPeerTime);
  EXPECT_GE(*noticed, kDeadPeerTime / 2);
}

TEST_F(SilenceTest, AStoppedProcessWhoseKernelAnswersProbesIsNotGone) {
  // Probes of a full window come further and further apart, and each of them is answered at once.
  for (const seconds gap :
       {seconds(3), seconds(12), seconds(51), seconds(102), seconds(120), seconds(120)}) {
    EXPECT_FALSE(observe(gap, false));
    EXPECT_FALSE(observe(kSilenceCheckInterval, true))
        << "a probe that has just left, behind a gap of " << gap.count();
    answered();
  }
}

TEST_F(SilenceTest, AnIdleConnectionIsNotGone) { EXPECT_FALSE(observe(seconds(600), false)); }

TEST_F(SilenceTest, AnAnswerBetweenTwoObservationsCounts) {
  EXPECT_FALSE(observe(seconds(24), true));
  answered();
  EXPECT_FALSE(observe(seconds(24), true));
}

}  // namespace
}  // namespace impishim::wire
