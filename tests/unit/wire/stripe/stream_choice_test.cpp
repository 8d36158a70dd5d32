// SPDX-License-Identifier: Apache-2.0
#include "wire/stripe/stream_choice.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace impishim::wire {
namespace {

using std::chrono::milliseconds;

TEST(StreamChoice, DoublesOnALongRoadThatLoses) {
  StreamChoice choice;
  EXPECT_EQ(choice.observe({milliseconds(50), 0}, 1, 8), 1U);
  EXPECT_EQ(choice.observe({milliseconds(50), 3}, 1, 8), 2U);
  EXPECT_EQ(choice.observe({milliseconds(50), 3}, 2, 8), 2U);
  EXPECT_EQ(choice.observe({milliseconds(50), 4}, 2, 8), 4U);
  EXPECT_EQ(choice.observe({milliseconds(50), 9}, 6, 8), 8U);
  EXPECT_EQ(choice.observe({milliseconds(50), 10}, 8, 8), 8U);
}

TEST(StreamChoice, LeavesShortRoadsAlone) {
  StreamChoice choice;
  EXPECT_EQ(choice.observe({milliseconds(1), 100}, 1, 8), 1U);
  EXPECT_EQ(choice.observe({milliseconds(1), 200}, 1, 8), 1U);
}

TEST(StreamChoice, BeginsAgainWhenAConnectionTookItsCountWithIt) {
  StreamChoice choice;
  EXPECT_EQ(choice.observe({milliseconds(50), 100}, 1, 8), 2U);
  EXPECT_EQ(choice.observe({milliseconds(50), 2}, 2, 8), 2U);
  EXPECT_EQ(choice.observe({milliseconds(50), 3}, 2, 8), 4U);
}

}  // namespace
}  // namespace impishim::wire
