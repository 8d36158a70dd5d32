// SPDX-License-Identifier: Apache-2.0
// Files of this machine.
#include "wire/file/stored_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/unit/wire/file/temporary_folder.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/file_view.hpp"

namespace impishim::wire {
namespace {

using test::bytes_of;
using test::content_of;
using test::opened;

TEST(StoredFile, ReadsPiecesUpToTheEnd) {
  const test::TemporaryFolder folder;
  const StoredFile file = opened(folder.file("data", "0123456789"), FileAccess::kRead);
  std::vector<std::byte> room(9, std::byte{'-'});
  std::uint64_t read = 0;
  const std::vector<FilePiece> pieces = {{1, 2}, {0, 0}, {5, 1}, {8, 6}};
  EXPECT_EQ(file.read(pieces, room, read), FileStatus::kDone);
  EXPECT_EQ(read, 5U);
  EXPECT_EQ(room, bytes_of("12589----"));
  EXPECT_EQ(file.read({{{10, 3}}}, room, read), FileStatus::kDone);
  EXPECT_EQ(read, 0U);
  std::uint64_t size = 0;
  EXPECT_EQ(file.size(size), FileStatus::kDone);
  EXPECT_EQ(size, 10U);
}

TEST(StoredFile, WritesDataOfManyPlaces) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("data");
  const StoredFile file = opened(path);
  std::vector<std::vector<std::byte>> parts;
  std::vector<std::span<const std::byte>> spans;
  std::string expected(3, '\0');
  for (std::size_t i = 0; i < 200; ++i) {
    const std::string text(i % 7, static_cast<char>('a' + i % 26));
    parts.push_back(bytes_of(text));
    expected += text;
  }
  for (const auto& part : parts) spans.emplace_back(part);
  EXPECT_EQ(file.write_gathered(3, spans), FileStatus::kDone);
  EXPECT_EQ(content_of(path), expected);
  EXPECT_EQ(file.write(0, bytes_of("xyz")), FileStatus::kDone);
  EXPECT_EQ(content_of(path), expected.replace(0, 3, "xyz"));
  EXPECT_EQ(file.sync(), FileStatus::kDone);
}

TEST(StoredFile, ReportsErrors) {
  const test::TemporaryFolder folder;
  FileStatus status = FileStatus::kDone;
  static_cast<void>(StoredFile::open(folder.path("none"), FileAccess::kRead, status));
  EXPECT_EQ(status, FileStatus::kNoSuchFile);
  const StoredFile file = opened(folder.file("data", "abc"), FileAccess::kRead);
  const auto data = bytes_of("x");
  const std::array<std::span<const std::byte>, 1> parts = {data};
  EXPECT_NE(file.write(0, data), FileStatus::kDone);
  EXPECT_NE(file.write_gathered(0, parts), FileStatus::kDone);
  std::vector<std::byte> room(1);
  std::uint64_t read = 7;
  EXPECT_NE(file.read({{{FileView::kNoPlace, 1}}}, room, read), FileStatus::kDone);
  EXPECT_EQ(read, 0U);
  EXPECT_NE(StoredFile().read({{{0, 1}}}, room, read), FileStatus::kDone);
}

/// Returns true if another descriptor can lock the byte.
bool can_lock(const std::string& path, off_t at, short type) {
  const StoredFile other = opened(path);
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  if (::fcntl(other.descriptor(), F_OFD_SETLK, &lock) == 0) return true;
  EXPECT_EQ(errno, EAGAIN);
  return false;
}

TEST(FileRangeLock, KeepsOtherDescriptorsAway) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("data", "abcdefgh");
  const StoredFile file = opened(path);
  {
    const FileRangeLock lock(file.descriptor(), 2, 4);
    EXPECT_EQ(lock.status(), FileStatus::kDone);
    EXPECT_FALSE(can_lock(path, 2, F_RDLCK));
    EXPECT_FALSE(can_lock(path, 3, F_WRLCK));
    EXPECT_TRUE(can_lock(path, 1, F_WRLCK));
    EXPECT_TRUE(can_lock(path, 4, F_WRLCK));
  }
  EXPECT_TRUE(can_lock(path, 2, F_WRLCK));
  const FileRangeLock empty(file.descriptor(), 2, 2);
  EXPECT_EQ(empty.status(), FileStatus::kDone);
  EXPECT_TRUE(can_lock(path, 5, F_WRLCK));
  EXPECT_NE(FileRangeLock(-1, 0, 1).status(), FileStatus::kDone);
}

TEST(FileRangeLock, ADescriptorThatOnlyReadsKeepsWritersAway) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("data", "abcdefgh");
  const StoredFile file = opened(path, FileAccess::kRead);
  const FileRangeLock lock(file.descriptor(), 0, 4);
  EXPECT_EQ(lock.status(), FileStatus::kDone);
  EXPECT_FALSE(can_lock(path, 0, F_WRLCK));
  EXPECT_TRUE(can_lock(path, 0, F_RDLCK));
}

}  // namespace
}  // namespace impishim::wire
