// SPDX-License-Identifier: Apache-2.0
#include "wire/base/output_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace impishim {
namespace {

class OutputFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "output-file-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ / "file";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static std::string contents(const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  [[nodiscard]] std::string reason() const {
    auto written = write_file(path_, "text");
    return written ? "" : written.error().text;
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST_F(OutputFile, IsMadeAndReplaced) {
  ASSERT_TRUE(write_file(path_, "a long text").ok());
  EXPECT_EQ(contents(path_), "a long text");
  ASSERT_TRUE(write_file(path_, "short").ok());
  EXPECT_EQ(contents(path_), "short");
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & (S_IWGRP | S_IWOTH | S_IXUSR), 0U);
}

TEST_F(OutputFile, LinksAreNotFollowed) {
  const auto victim = folder_ / "victim";
  std::ofstream(victim) << "precious";
  std::filesystem::create_symlink(victim, path_);
  EXPECT_EQ(reason(), "it is a symbolic link");
  std::filesystem::remove(path_);
  std::filesystem::create_hard_link(victim, path_);
  EXPECT_EQ(reason(), "it belongs to another user, or has other names");
  EXPECT_EQ(contents(victim), "precious");
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(folder_ / "new", path_);
  EXPECT_EQ(reason(), "it is a symbolic link");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
}

TEST_F(OutputFile, OnlyRegularFilesOfThisUserAreWritten) {
  ASSERT_EQ(mkfifo(path_.c_str(), S_IRUSR | S_IWUSR), 0);
  EXPECT_NE(reason(), "");  // ENXIO: a FIFO without a reader
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(reason(), "Is a directory");
  std::filesystem::remove(path_);
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  std::ofstream(path_) << "precious";
  ASSERT_EQ(chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(reason(), "it belongs to another user, or has other names");
  EXPECT_EQ(contents(path_), "precious");
}

TEST_F(OutputFile, ErrorsOfTheSystemAreTold) {
  EXPECT_EQ(write_file(folder_ / "no" / "file", "text").error().text, "No such file or directory");
}

}  // namespace
}  // namespace impishim
