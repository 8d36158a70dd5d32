// SPDX-License-Identifier: Apache-2.0
#include "wire/trace/trace_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstddef>

#include "wire/base/result.hpp"

namespace impishim::wire {
namespace {

constexpr std::array kVariables = {"IMPISHIM_TRACE", "IMPISHIM_TRACE_SIZE",
                                   "IMPISHIM_TEST_CLOCK_SKEW_MS"};

class TraceSettingsOf : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : kVariables) unsetenv(name);
  }
};

TEST_F(TraceSettingsOf, NoVariables) {
  const auto settings = TraceSettings::from_environment();
  ASSERT_TRUE(settings) << settings.error().text;
  EXPECT_EQ(settings->prefix, "");
  EXPECT_EQ(settings->bytes, std::size_t{16} << 20U);
  EXPECT_EQ(settings->skew_ns, 0);
}

TEST_F(TraceSettingsOf, AllVariables) {
  setenv("IMPISHIM_TRACE", "run/trace", 1);
  setenv("IMPISHIM_TRACE_SIZE", "3", 1);
  setenv("IMPISHIM_TEST_CLOCK_SKEW_MS", "-20", 1);
  const auto settings = TraceSettings::from_environment();
  ASSERT_TRUE(settings) << settings.error().text;
  EXPECT_EQ(settings->prefix, "run/trace");
  EXPECT_EQ(settings->bytes, std::size_t{3} << 20U);
  EXPECT_EQ(settings->skew_ns, -20000000);
}

TEST_F(TraceSettingsOf, WrongSizesAreNamed) {
  for (const char* size : {"0", "-1", "64M", "", "65537"}) {
    setenv("IMPISHIM_TRACE_SIZE", size, 1);
    const auto settings = TraceSettings::from_environment();
    ASSERT_FALSE(settings) << size;
    EXPECT_EQ(settings.error().kind, ErrorKind::kConfiguration);
    EXPECT_THAT(settings.error().text, testing::HasSubstr("IMPISHIM_TRACE_SIZE"));
  }
}

}  // namespace
}  // namespace impishim::wire
