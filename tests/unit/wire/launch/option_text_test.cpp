// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/options/option_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace impishim::launch {
namespace {

using ::testing::HasSubstr;

/// Returns `text` without the backslashes of roff and of zsh.
std::string plain(std::string text) {
  std::erase(text, '\\');
  return text;
}

TEST(OptionText, EveryOptionStandsInAllTexts) {
  const auto options = option_texts();
  ASSERT_GT(options.size(), 30U);
  const std::string help = help_text();
  const std::string manual = plain(manual_page("1"));
  const std::string bash = bash_completion();
  const std::string zsh = zsh_completion();
  for (const OptionText& option : options) {
    EXPECT_THAT(help, HasSubstr("\n  -" + option.name + " ")) << option.name;
    EXPECT_THAT(manual, HasSubstr("fB-" + option.name + "fR"));
    EXPECT_THAT(manual, HasSubstr(option.default_text));
    EXPECT_THAT(bash, HasSubstr("-" + option.name));
    EXPECT_THAT(zsh, HasSubstr("*-" + option.name + "["));
    for (const std::string& alias : option.aliases) {
      EXPECT_THAT(manual, HasSubstr("-" + alias));
      EXPECT_THAT(bash, HasSubstr("-" + alias));
      EXPECT_THAT(zsh, HasSubstr("*-" + alias + "["));
    }
  }
}

TEST(OptionText, HelpFitsATerminalAndShowsOneSpelling) {
  std::istringstream lines(help_text());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_THAT(help_text(), ::testing::Not(HasSubstr("--np")));
  EXPECT_THAT(help_text(), ::testing::Not(HasSubstr("-machinefile")));
}

}  // namespace
}  // namespace impishim::launch
