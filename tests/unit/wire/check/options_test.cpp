// SPDX-License-Identifier: Apache-2.0
#include "wire/check/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace impishim::check {
namespace {

using Words = std::vector<std::string>;

TEST(CheckOptions, AllOfThem) {
  for (const Words& words : {Words{"192.0.2.7:5000", "-client", "3", "-np", "8", "-json"},
                             Words{"--json", "--client", "3", "-n", "8", "192.0.2.7:5000"}}) {
    const auto options = parse_check_options(words);
    ASSERT_TRUE(options) << options.error().text;
    EXPECT_EQ(options->server, "192.0.2.7:5000");
    EXPECT_EQ(options->client, 3);
    EXPECT_EQ(options->processes, 8);
    EXPECT_TRUE(options->json);
  }
}

TEST(CheckOptions, Defaults) {
  const auto options = parse_check_options({"[::1]:5000", "-client", "0"});
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->processes, 1);
  EXPECT_FALSE(options->json);
}

TEST(CheckOptions, HelpNeedsNothingElse) {
  const auto options = parse_check_options({"-help"});
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_TRUE(options->help);
  EXPECT_THAT(check_help(), testing::HasSubstr("-client I"));
}

TEST(CheckOptions, WrongCommands) {
  for (const auto& [words, reason] : std::vector<std::pair<Words, std::string>>{
           {{}, "-check needs the address:port"},
           {{"a:1"}, "-check needs -client I"},
           {{"nowhere", "-client", "0"}, "address:port"},
           {{"a:1", "-client", "32"}, "32"},
           {{"a:1", "-client", "one"}, "one"},
           {{"a:1", "-client", "0", "-np", "0"}, "0"},
           {{"a:1", "-client", "0", "-what"}, "what"},
           {{"a:1", "-client", "0", "b:1"}, "b:1"},
       }) {
    const auto options = parse_check_options(words);
    ASSERT_FALSE(options) << reason;
    EXPECT_THAT(options.error().text, testing::HasSubstr(reason));
  }
}

}  // namespace
}  // namespace impishim::check
