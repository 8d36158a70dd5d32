// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/options/shell_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace impishim::launch {
namespace {

using ::testing::ElementsAre;

TEST(ShellWords, SplitsAsAShellDoes) {
  EXPECT_THAT(*split_words("  a 'b c'\t\"d 'e'\" f\\ g '' "),
              ElementsAre("a", "b c", "d 'e'", "f g", ""));
  EXPECT_TRUE(split_words("")->empty());
  EXPECT_FALSE(split_words("a \"b"));
}

TEST(ShellWords, WhatIsQuotedIsReadBack) {
  const std::vector<std::string> words = {"plain", "two words", "it's", "", "$HOME", "a\nb", "\\"};
  EXPECT_EQ(*split_words(shell_command(words)), words);
  EXPECT_EQ(shell_word("--host=a:1"), "--host=a:1");
}

}  // namespace
}  // namespace impishim::launch
