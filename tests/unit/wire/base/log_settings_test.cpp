// SPDX-License-Identifier: Apache-2.0
#include "wire/base/log_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace impishim {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

LogLevel level_of(const LogLevels& levels, LogArea area) {
  return levels.at(static_cast<std::size_t>(area));
}

TEST(LogSettings, OneLevelHoldsForAllAreas) {
  const auto levels = parse_log_levels("IMPISHIM_LOG", "info");
  ASSERT_TRUE(levels);
  EXPECT_THAT(*levels, Each(LogLevel::kInfo));
}

TEST(LogSettings, AreasHaveLevelsOfTheirOwn) {
  const auto levels = parse_log_levels("IMPISHIM_LOG", "relay=debug,shuffle=warn");
  ASSERT_TRUE(levels);
  EXPECT_EQ(level_of(*levels, LogArea::kRelay), LogLevel::kDebug);
  EXPECT_EQ(level_of(*levels, LogArea::kShuffle), LogLevel::kWarn);
  EXPECT_EQ(level_of(*levels, LogArea::kEngine), LogLevel::kError);
}

TEST(LogSettings, ALevelBeforeAreasIsThatOfTheOthers) {
  const auto levels = parse_log_levels("IMPISHIM_LOG", "warn,collectives=debug");
  ASSERT_TRUE(levels);
  EXPECT_EQ(level_of(*levels, LogArea::kCollectives), LogLevel::kDebug);
  EXPECT_EQ(level_of(*levels, LogArea::kShim), LogLevel::kWarn);
}

TEST(LogSettings, NamesAreFoundAgain) {
  for (std::size_t i = 0; i < kLogAreas; ++i) {
    const auto area = static_cast<LogArea>(i);
    const auto levels = parse_log_levels("V", std::string(name_of(area)) + "=debug");
    ASSERT_TRUE(levels);
    EXPECT_EQ(level_of(*levels, area), LogLevel::kDebug);
  }
}

TEST(LogSettings, WrongLevelsAreNamed) {
  for (const char* wrong : {"", "loud", "channel=loud", "info,", "channel=debug,info",
                            "channel=", "=info", "Info", "info ", "a\x1b[31mb"}) {
    const auto levels = parse_log_levels("IMPISHIM_LOG", wrong);
    ASSERT_FALSE(levels) << wrong;
    EXPECT_EQ(levels.error().kind, ErrorKind::kConfiguration);
    EXPECT_THAT(levels.error().text, AllOf(HasSubstr("IMPISHIM_LOG="), HasSubstr("use ")));
    EXPECT_EQ(levels.error().text.find('\x1b'), std::string::npos);
  }
  const auto levels = parse_log_levels("IMPISHIM_LOG", "chanel=debug");
  ASSERT_FALSE(levels);
  EXPECT_THAT(levels.error().text, AllOf(HasSubstr("\"chanel\""), HasSubstr("channel, engine")));
}

TEST(LogSettings, RanksAreRanges) {
  const auto ranks = RankRanges::parse("IMPISHIM_LOG_RANKS", "0-3,8");
  ASSERT_TRUE(ranks);
  for (const int in : {0, 1, 2, 3, 8}) EXPECT_TRUE(ranks->contains(in)) << in;
  for (const int out : {-1, 4, 7, 9}) EXPECT_FALSE(ranks->contains(out)) << out;
  EXPECT_TRUE(RankRanges().contains(17));
}

TEST(LogSettings, WrongRanksAreNamed) {
  for (const char* wrong : {"", "a", "3-1", "1-", "-1", "1,,2", "1,", "1 ", "99999999999"}) {
    const auto ranks = RankRanges::parse("IMPISHIM_LOG_RANKS", wrong);
    ASSERT_FALSE(ranks) << wrong;
    EXPECT_THAT(ranks.error().text, HasSubstr("IMPISHIM_LOG_RANKS="));
  }
}

TEST(LogSettings, WhatIsNotSetHasNoEffect) {
  const LogSettings settings;
  EXPECT_THAT(settings.recorded(), Each(LogLevel::kError));
  EXPECT_EQ(settings.shown(), LogLevel::kDebug);
}

TEST(LogSettings, AFileRecordsMilestonesAndLeavesStandardErrorAlone) {
  LogSettings settings;
  ASSERT_TRUE(settings.set_file("log"));
  EXPECT_THAT(settings.recorded(), Each(LogLevel::kInfo));
  EXPECT_EQ(settings.shown(), LogLevel::kError);
  ASSERT_TRUE(settings.set_stderr("warn"));
  EXPECT_EQ(settings.shown(), LogLevel::kWarn);
}

TEST(LogSettings, WrongValuesOfTheOthersAreNamed) {
  LogSettings settings;
  EXPECT_FALSE(settings.set_file(""));
  EXPECT_FALSE(settings.set_stderr("all"));
  for (const char* wrong : {"", "-1", "1k", "99999999999", "0x10"}) {
    const auto set = settings.set_buffer(wrong);
    ASSERT_FALSE(set) << wrong;
    EXPECT_THAT(set.error().text, HasSubstr("IMPISHIM_LOG_BUFFER="));
  }
  EXPECT_TRUE(settings.set_buffer("65536"));
  EXPECT_EQ(settings.buffer_bytes, 65536U);
}

}  // namespace
}  // namespace impishim
