// SPDX-License-Identifier: Apache-2.0
// Whether two names are one file.
#include "wire/file/file_probe.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/unit/wire/file/temporary_folder.hpp"

namespace impishim::wire {
namespace {

TEST(FileProbe, TellsTheSameFileFromOthers) {
  const test::TemporaryFolder here;
  const test::TemporaryFolder there;
  const std::string path = here.file("data");
  const std::string other = there.file("data");
  const std::string sibling = here.file("sibling");
  std::filesystem::create_symlink(path, there.path("link"));
  std::filesystem::create_hard_link(path, there.path("hard"));
  auto probe = std::make_unique<FileProbe>(path);
  const FileProbeToken token = probe->token();
  ASSERT_TRUE(token.made);
  EXPECT_TRUE(sees_same_file(path, token));
  EXPECT_TRUE(sees_same_file(there.path("link"), token));
  EXPECT_FALSE(sees_same_file(other, token));
  EXPECT_FALSE(sees_same_file(sibling, token));
  EXPECT_FALSE(sees_same_file(here.path("none"), token));
  // The same file in fact, but nothing here shows it.
  EXPECT_FALSE(sees_same_file(there.path("hard"), token));
  FileProbeToken changed = token;
  changed.inode += 1;
  EXPECT_FALSE(sees_same_file(path, changed));
  EXPECT_EQ(here.files(), 3);
  probe.reset();
  EXPECT_EQ(here.files(), 2);
  EXPECT_FALSE(sees_same_file(path, token));
}

TEST(FileProbe, TheContentCountsToo) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("data");
  const FileProbe probe(path);
  ASSERT_TRUE(probe.token().made);
  const std::filesystem::path probed = name_beside(path, probe.token(), ".probe");
  static_cast<void>(folder.file(probed.filename().string(), "0123456789abcdef"));
  EXPECT_FALSE(sees_same_file(path, probe.token()));
  static_cast<void>(folder.file(probed.filename().string(), "short"));
  EXPECT_FALSE(sees_same_file(path, probe.token()));
}

TEST(FileProbe, AMissingFileHasNone) {
  const test::TemporaryFolder folder;
  const FileProbe probe(folder.path("none"));
  EXPECT_FALSE(probe.token().made);
  EXPECT_FALSE(sees_same_file(folder.path("none"), probe.token()));
  EXPECT_EQ(folder.files(), 0);
}

TEST(FileProbe, AFolderThatCannotBeWrittenHasNone) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write to every folder";
  const test::TemporaryFolder folder;
  const std::string path = folder.file("data");
  ASSERT_EQ(::chmod(folder.path("").c_str(), S_IRUSR | S_IXUSR), 0);
  const bool made = FileProbe(path).token().made;
  ASSERT_EQ(::chmod(folder.path("").c_str(), S_IRWXU), 0);
  EXPECT_FALSE(made);
}

}  // namespace
}  // namespace impishim::wire
