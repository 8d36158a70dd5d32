// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/authentication.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace impishim::wire {
namespace {

using testing::HasSubstr;

/// A folder with one file for a key, and an environment without any method.
class KeyFile : public testing::Test {
 protected:
  void SetUp() override {
    clear();
    std::string name = std::filesystem::temp_directory_path() / "key-file-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ / "key";
  }
  void TearDown() override {
    clear();
    std::filesystem::remove_all(folder_);
  }
  static void clear() {
    for (const char* name : {"IMPI_AUTH_KEY", "IMPI_AUTH_KEY_FILE", "IMPI_AUTH_NONE"})
      unsetenv(name);
  }
  void write(const std::string& text, mode_t mode = S_IRUSR | S_IWUSR) {
    std::filesystem::remove(path_);
    std::ofstream(path_) << text;
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
  }
  [[nodiscard]] std::string reason() const {
    auto key = read_key_file(path_);
    return key ? "" : key.error().text;
  }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST_F(KeyFile, HoldsADecimalNumber) {
  for (const char* text :
       {"18446744073709551615", "18446744073709551615\n", "18446744073709551615 \r\n\n"}) {
    write(text);
    auto key = read_key_file(path_);
    ASSERT_TRUE(key.ok()) << text;
    EXPECT_EQ(*key, 18446744073709551615ULL);
  }
  write("77\n", S_IRUSR);
  EXPECT_EQ(*read_key_file(path_), 77U);
  for (const char* text :
       {"", "\n", "secret\n", "1 2\n", "-1\n", "0x10\n", "18446744073709551616\n"}) {
    write(text);
    EXPECT_THAT(reason(), HasSubstr("must hold one decimal 64-bit number")) << text;
  }
  write(std::string(1 << 16, '1'));
  EXPECT_THAT(reason(), HasSubstr("is longer than 64 bytes"));
}

TEST_F(KeyFile, OpenToOthersIsRefused) {
  for (const mode_t mode : {S_IRGRP, S_IWGRP, S_IXGRP, S_IROTH, S_IWOTH, S_IXOTH}) {
    write("77\n", S_IRUSR | S_IWUSR | mode);
    EXPECT_THAT(reason(), HasSubstr("is open to other users")) << mode;
    EXPECT_THAT(reason(), testing::Not(HasSubstr("77 "))) << "a key does not stand in a message";
  }
}

TEST_F(KeyFile, OfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  write("77\n");
  ASSERT_EQ(chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_THAT(reason(), HasSubstr("belongs to user 65534"));
}

TEST_F(KeyFile, MustBeARegularFileItself) {
  EXPECT_THAT(reason(), HasSubstr("cannot be opened: No such file"));
  write("77\n");
  const auto link = folder_ / "link";
  std::filesystem::create_symlink(path_, link);
  EXPECT_THAT(read_key_file(link).error().text, HasSubstr("is a symbolic link"));
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), S_IRUSR | S_IWUSR), 0);
  EXPECT_THAT(reason(), HasSubstr("is not a regular file"));
  EXPECT_THAT(read_key_file(folder_).error().text, HasSubstr("is not a regular file"));
}

TEST_F(KeyFile, CountsWhereTheKeyIsNotInTheEnvironment) {
  write("77\n");
  setenv("IMPI_AUTH_KEY_FILE", path_.c_str(), 1);
  auto from_file = AuthenticationMethods::from_environment();
  ASSERT_TRUE(from_file.ok());
  EXPECT_TRUE(from_file->enables(kAuthKey));
  EXPECT_FALSE(from_file->enables(kAuthNone));
  EXPECT_EQ(from_file->key_value, 77U);
  setenv("IMPI_AUTH_KEY", "78", 1);
  EXPECT_EQ(AuthenticationMethods::from_environment()->key_value, 78U);
  unsetenv("IMPI_AUTH_KEY");
  setenv("IMPI_AUTH_NONE", "", 1);
  std::filesystem::remove(path_);
  EXPECT_EQ(AuthenticationMethods::from_environment().error().kind, ErrorKind::kAuthentication)
      << "a file that is named and not there is an error, whatever else is enabled";
}

}  // namespace
}  // namespace impishim::wire
