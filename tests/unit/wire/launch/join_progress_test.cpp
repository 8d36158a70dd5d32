// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/join_progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace impishim::launch {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(JoinProgress, TellsOfADelayWithTheLikelyReason) {
  const JoinProgress::Clock::time_point start{};
  JoinProgress progress(
      {{"a", "", "mpiexec", false, true, false}, {"b", "login.b", "srun", true, false, false}},
      false, start);
  EXPECT_EQ(progress.time_to_report(start), seconds(2));
  EXPECT_EQ(progress.report(start + seconds(1)), "");
  EXPECT_THAT(progress.report(start + seconds(2)),
              HasSubstr("2 s: 0 of 2 systems have joined; missing: a (mpiexec runs"));
  EXPECT_THAT(progress.joined(1, start + seconds(3)),
              HasSubstr("3 s: 1 of 2 systems have joined; missing: b on login.b (ssh has not "
                        "reached login.b yet"));
  progress.begun(1);
  EXPECT_EQ(progress.report(start + seconds(12)), "");
  EXPECT_THAT(progress.report(start + seconds(13)),
              HasSubstr("it may wait for nodes in the queue"));
  EXPECT_EQ(progress.joined(3, start + seconds(14)), "14 s: 2 of 2 systems have joined");
  EXPECT_TRUE(progress.all_joined());
  EXPECT_EQ(progress.report(start + seconds(60)), "");
}

TEST(JoinProgress, AFastStartIsNoNews) {
  const JoinProgress::Clock::time_point start{};
  JoinProgress progress({{"a", "", "mpiexec", false, true, false}}, false, start);
  EXPECT_EQ(progress.joined(1, start + seconds(1)), "");
  EXPECT_EQ(progress.report(start + seconds(5)), "");
}

}  // namespace
}  // namespace impishim::launch
