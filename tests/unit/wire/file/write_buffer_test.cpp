// SPDX-License-Identifier: Apache-2.0
// Collected writes against a model of the file.
#include "wire/file/write_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/wire/file/temporary_folder.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/stored_file.hpp"

namespace impishim::wire {
namespace {

using test::bytes_of;
using test::content_of;
using test::opened;

TEST(WriteBuffer, CollectsUntilItIsFlushed) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("data");
  const StoredFile file = opened(path);
  WriteBuffer buffer;
  const std::vector<FilePiece> pieces = {{6, 2}, {0, 0}, {0, 2}, {2, 2}};
  EXPECT_EQ(buffer.add(pieces, bytes_of("ghabcd"), file), FileStatus::kDone);
  EXPECT_EQ(buffer.bytes(), 6U);
  EXPECT_EQ(content_of(path), "");
  EXPECT_EQ(buffer.flush(file), FileStatus::kDone);
  EXPECT_EQ(buffer.bytes(), 0U);
  EXPECT_EQ(content_of(path), std::string("abcd\0\0gh", 8));
}

TEST(WriteBuffer, TheLaterOfTwoWritesCounts) {
  const test::TemporaryFolder folder;
  for (const FilePiece later :
       {FilePiece{0, 3}, FilePiece{2, 3}, FilePiece{1, 1}, FilePiece{3, 5}}) {
    const std::string path = folder.file("data");
    const StoredFile file = opened(path);
    WriteBuffer buffer;
    std::string expected = "abcdefgh";
    EXPECT_EQ(buffer.add({{{0, 8}}}, bytes_of(expected), file), FileStatus::kDone);
    EXPECT_EQ(buffer.add({{later}}, std::vector(later.bytes, std::byte{'x'}), file),
              FileStatus::kDone);
    EXPECT_EQ(buffer.flush(file), FileStatus::kDone);
    EXPECT_EQ(content_of(path), expected.replace(later.offset, later.bytes, later.bytes, 'x'));
  }
}

TEST(WriteBuffer, NeverHoldsMoreThanItsBounds) {
  const test::TemporaryFolder folder;
  const StoredFile file = opened(folder.file("data"));
  WriteBuffer buffer;
  const std::vector<std::byte> data(WriteBuffer::kLongPiece - 1);
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(buffer.add({{{i * data.size(), data.size()}}}, data, file), FileStatus::kDone);
    EXPECT_LE(buffer.bytes(), WriteBuffer::kCapacity);
  }
  EXPECT_EQ(buffer.flush(file), FileStatus::kDone);
  for (std::uint64_t i = 0; i <= WriteBuffer::kMostParts; ++i)
    EXPECT_EQ(buffer.add({{{2 * i, 1}}}, bytes_of("x"), file), FileStatus::kDone);
  EXPECT_EQ(buffer.bytes(), 1U);
}

TEST(WriteBuffer, LongPiecesAreWrittenAtOnce) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("data");
  const StoredFile file = opened(path);
  WriteBuffer buffer;
  EXPECT_EQ(buffer.add({{{1, 2}}}, bytes_of("no"), file), FileStatus::kDone);
  const std::vector<std::byte> data(WriteBuffer::kCapacity + 5, std::byte{'y'});
  EXPECT_EQ(buffer.add({{{0, data.size()}}}, data, file), FileStatus::kDone);
  EXPECT_EQ(buffer.bytes(), 0U);
  EXPECT_EQ(content_of(path), std::string(data.size(), 'y'));
}

TEST(WriteBuffer, CountsWhatIsLost) {
  const test::TemporaryFolder folder;
  const StoredFile file = opened(folder.file("data"), FileAccess::kRead);
  WriteBuffer buffer;
  EXPECT_EQ(buffer.flush(file), FileStatus::kDone);
  EXPECT_EQ(buffer.add({{{0, 2}}}, bytes_of("ab"), file), FileStatus::kDone);
  EXPECT_NE(buffer.add({{{1, 1}}}, bytes_of("c"), file), FileStatus::kDone);
  EXPECT_EQ(buffer.losses(), 1U);
  EXPECT_NE(buffer.latest_loss(), FileStatus::kDone);
  EXPECT_EQ(buffer.bytes(), 0U);
}

TEST(WriteBuffer, LikeTheModel) {
  constexpr std::size_t kSize = 2000000;
  const test::TemporaryFolder folder;
  const std::string path = folder.file("data");
  const StoredFile file = opened(path);
  WriteBuffer buffer;
  std::string model(kSize, '\0');
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    std::vector<FilePiece> pieces;
    std::vector<std::byte> data;
    for (std::size_t piece = 0; piece <= random() % 5; ++piece) {
      const std::uint64_t most = random() % 100 == 0 ? 600000 : 40;
      const std::uint64_t bytes = random() % most;
      // Often next to the last one, often far away.
      const std::uint64_t offset = random() % (random() % 2 == 0 ? 1000 : kSize - bytes);
      pieces.push_back({offset, bytes});
      const char value = static_cast<char>('a' + random() % 26);
      data.insert(data.end(), bytes, static_cast<std::byte>(value));
      std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(offset), bytes, value);
    }
    ASSERT_EQ(buffer.add(pieces, data, file), FileStatus::kDone);
  }
  ASSERT_EQ(buffer.flush(file), FileStatus::kDone);
  std::string content = content_of(path);
  content.resize(kSize);
  EXPECT_TRUE(content == model);
}

}  // namespace
}  // namespace impishim::wire
