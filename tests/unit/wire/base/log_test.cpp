// SPDX-License-Identifier: Apache-2.0
#include "wire/base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace impishim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "log-test-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    set_log_name("impishim: rank 3", "3");
    set_log_place(1, 3);
  }
  void TearDown() override {
    configure_log(LogSettings());
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] LogSettings with_file() const {
    LogSettings settings;
    EXPECT_TRUE(settings.set_file((folder_ / "log").string()));
    return settings;
  }
  [[nodiscard]] std::string file() const {
    std::stringstream text;
    text << std::ifstream(folder_ / "log.3.log").rdbuf();
    return text.str();
  }
  static std::string written(const std::function<void()>& act) {
    testing::internal::CaptureStderr();
    act();
    return testing::internal::GetCapturedStderr();
  }

  std::filesystem::path folder_;
};

void write_one_of_each() {
  log(LogArea::kEngine, LogLevel::kError, "an {}", "error");
  log(LogArea::kEngine, LogLevel::kWarn, "a warning");
  log(LogArea::kEngine, LogLevel::kInfo, "a milestone");
  log(LogArea::kEngine, LogLevel::kDebug, "a change");
}

TEST_F(LogTest, WithoutSettingsErrorsHaveTheirShortForm) {
  configure_log(LogSettings());
  EXPECT_EQ(written(write_one_of_each), "impishim: rank 3: an error\n");
}

TEST_F(LogTest, ALineHasItsColumns) {
  LogSettings settings;
  ASSERT_TRUE(settings.set_levels("engine=info"));
  configure_log(settings);
  const std::string text = written(write_one_of_each);
  EXPECT_THAT(
      text, MatchesRegex("(....-..-..T..:..:..\\.......Z system 1 rank 3 host [^ ]+ engine [a-z]+: "
                         "[a-z ]+\n)+"));
  EXPECT_THAT(text, AllOf(HasSubstr("warn: a warning"), HasSubstr("info: a milestone"),
                          Not(HasSubstr("a change"))));
}

TEST_F(LogTest, AnAreaThatIsOffIsNotFormatted) {
  LogSettings settings;
  ASSERT_TRUE(settings.set_levels("relay=debug"));
  configure_log(settings);
  EXPECT_FALSE(log_enabled(LogArea::kEngine, LogLevel::kDebug));
  EXPECT_TRUE(log_enabled(LogArea::kRelay, LogLevel::kDebug));
  EXPECT_TRUE(log_enabled(LogArea::kEngine, LogLevel::kError));
}

TEST_F(LogTest, TheFileIsForItsOwnerAlone) {
  configure_log(with_file());
  EXPECT_EQ(written(write_one_of_each), "impishim: rank 3: an error\n");
  EXPECT_THAT(file(), AllOf(HasSubstr("engine error: an error"), HasSubstr("info: a milestone"),
                            Not(HasSubstr("a change"))));
  struct stat status {};
  ASSERT_EQ(stat((folder_ / "log.3.log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(LogTest, AFileOfAnEarlierRunIsReplacedAndClosedToOthers) {
  std::ofstream(folder_ / "log.3.log") << "earlier\n";
  std::filesystem::permissions(folder_ / "log.3.log", std::filesystem::perms(0644));
  configure_log(with_file());
  static_cast<void>(written(write_one_of_each));
  EXPECT_THAT(file(), Not(HasSubstr("earlier")));
  struct stat status {};
  ASSERT_EQ(stat((folder_ / "log.3.log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(LogTest, ALinkIsNotFollowed) {
  std::ofstream(folder_ / "target") << "mine";
  std::filesystem::create_symlink(folder_ / "target", folder_ / "log.3.log");
  configure_log(with_file());
  EXPECT_THAT(written(write_one_of_each),
              AllOf(HasSubstr("IMPISHIM_LOG_FILE"), HasSubstr("symbolic link")));
  EXPECT_EQ(file(), "mine");
}

TEST_F(LogTest, AFileThatCannotGrowIsNamedOnce) {
  configure_log(with_file());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  constexpr rlim_t kMost = 4096;
  const rlimit small{kMost, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string text = written([] {
    for (int i = 0; i < 100; ++i) log(LogArea::kEngine, LogLevel::kInfo, "milestone {}", i);
  });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(text, MatchesRegex("impishim: rank 3: warn[a-z]*: cannot write the log to "
                                 "[^ ]+/log\\.3\\.log \\(IMPISHIM_LOG_FILE\\): File too large\n"));
  EXPECT_EQ(std::filesystem::file_size(folder_ / "log.3.log"), kMost);
}

TEST_F(LogTest, LinesBeforeTheRankIsKnownComeFirst) {
  set_log_name("impishim", "");
  set_log_place(1, -1);
  configure_log(with_file());
  log(LogArea::kStartup, LogLevel::kInfo, "early");
  EXPECT_EQ(file(), "");
  set_log_place(1, 3);
  log(LogArea::kStartup, LogLevel::kInfo, "late");
  const std::string text = file();
  EXPECT_LT(text.find("rank - "), text.find("early"));
  EXPECT_LT(text.find("early"), text.find("late"));
}

TEST_F(LogTest, RanksThatAreNotNamedRecordErrorsAlone) {
  LogSettings settings = with_file();
  ASSERT_TRUE(settings.set_levels("debug"));
  ASSERT_TRUE(settings.set_ranks("0-2,4"));
  configure_log(settings);
  EXPECT_THAT(written(write_one_of_each), AllOf(HasSubstr("an error"), Not(HasSubstr("warn"))));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "log.3.log"));
}

TEST_F(LogTest, TheBufferHoldsTheLatestLinesAndIsWrittenOnce) {
  LogSettings settings = with_file();
  ASSERT_TRUE(settings.set_buffer("2000"));
  configure_log(settings);
  for (int i = 0; i < 100; ++i) log(LogArea::kEngine, LogLevel::kDebug, "number {};", i);
  EXPECT_EQ(file(), "");
  write_log_buffer();
  const std::string text = file();
  EXPECT_THAT(text, AllOf(HasSubstr("before the failure"), HasSubstr("number 99;"),
                          Not(HasSubstr("number 50;"))));
  EXPECT_LT(text.size(), 2200U);
  write_log_buffer();
  EXPECT_EQ(file(), text);
}

TEST_F(LogTest, WithoutAFileTheBufferGoesToStandardError) {
  LogSettings settings;
  ASSERT_TRUE(settings.set_buffer("2000"));
  configure_log(settings);
  EXPECT_EQ(written([] { log(LogArea::kRelay, LogLevel::kDebug, "kept"); }), "");
  EXPECT_THAT(written(write_log_buffer), HasSubstr("relay debug: kept"));
}

TEST_F(LogTest, ThreadsDoNotMixTheirLines) {
  LogSettings settings = with_file();
  ASSERT_TRUE(settings.set_levels("info"));
  configure_log(settings);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 200; ++k) log(LogArea::kShim, LogLevel::kInfo, "line");
    });
  }
  for (std::thread& each : threads) each.join();
  std::istringstream text(file());
  int lines = 0;
  for (std::string line; std::getline(text, line); ++lines)
    EXPECT_TRUE(line.ends_with(" shim info: line")) << line;
  EXPECT_EQ(lines, 800);
}

TEST_F(LogTest, AWrongVariableIsAnErrorThatNamesIt) {
  setenv("IMPISHIM_LOG", "loud", 1);
  const auto configured = configure_log();
  unsetenv("IMPISHIM_LOG");
  ASSERT_FALSE(configured);
  EXPECT_THAT(configured.error().text, HasSubstr("IMPISHIM_LOG=loud"));
}

}  // namespace
}  // namespace impishim
