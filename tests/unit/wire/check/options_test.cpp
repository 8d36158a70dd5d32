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

TEST(CheckOptions, AJobFileHasTheRest) {
  const auto options = parse_check_options({"a/job.toml", "-json"});
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->job_file, "a/job.toml");
  EXPECT_TRUE(options->json);
  for (const Words& words : {Words{"job.toml", "-client", "0"}, Words{"job.toml", "-np", "1"}})
    EXPECT_THAT(parse_check_options(words).error().text, testing::HasSubstr("from it"));
}

TEST(CheckOptions, WordsSurvive) {
  CheckOptions options;
  options.server = "[::1]:5000";
  options.client = 7;
  options.processes = 3;
  options.json = options.part = true;
  Words words = check_words(options);
  EXPECT_EQ(words.front(), "-check");
  words.erase(words.begin());
  const auto parsed = parse_check_options(words);
  ASSERT_TRUE(parsed) << parsed.error().text;
  EXPECT_EQ(parsed->server, options.server);
  EXPECT_EQ(parsed->client, 7);
  EXPECT_EQ(parsed->processes, 3);
  EXPECT_TRUE(parsed->json && parsed->part);
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
