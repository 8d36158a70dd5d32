// SPDX-License-Identifier: Apache-2.0
// Shared file pointers that threads and processes use at the same time.
#include "wire/file/file_pointer.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/wire/file/temporary_folder.hpp"
#include "wire/file/file_status.hpp"

namespace impishim::wire {
namespace {

constexpr int kRounds = 200;

TEST(FilePointers, CountFromZeroAndFromWhatIsSet) {
  const test::TemporaryFolder folder;
  FilePointers pointers(folder.path("pointers"));
  std::int64_t before = -1;
  EXPECT_EQ(folder.files(), 0);
  EXPECT_EQ(pointers.add(3, 5, before), FileStatus::kDone);
  EXPECT_EQ(before, 0);
  EXPECT_EQ(pointers.add(3, 0, before), FileStatus::kDone);
  EXPECT_EQ(before, 5);
  EXPECT_EQ(pointers.add(0, 1, before), FileStatus::kDone);
  EXPECT_EQ(before, 0);
  EXPECT_EQ(pointers.set(3, INT64_MAX), FileStatus::kDone);
  EXPECT_EQ(pointers.add(3, 1, before), FileStatus::kBadRequest);
  EXPECT_EQ(pointers.add(3, -1, before), FileStatus::kDone);
  EXPECT_EQ(before, INT64_MAX);
  pointers.remove();
  EXPECT_EQ(folder.files(), 0);
}

TEST(FilePointers, NumbersWithoutAPlaceAreRefused) {
  const test::TemporaryFolder folder;
  FilePointers pointers(folder.path("pointers"));
  std::int64_t before = 0;
  for (const std::uint64_t pointer :
       {UINT64_MAX, std::uint64_t{1} << 61U, std::uint64_t{1} << 60U}) {
    EXPECT_EQ(pointers.add(pointer, 1, before), FileStatus::kBadRequest);
    EXPECT_EQ(pointers.set(pointer, 1), FileStatus::kBadRequest);
  }
  EXPECT_EQ(folder.files(), 0);
  FilePointers nowhere(folder.path("none/pointers"));
  EXPECT_EQ(nowhere.set(0, 1), FileStatus::kNoSuchFile);
  std::filesystem::create_symlink(folder.file("target"), folder.path("link"));
  FilePointers link(folder.path("link"));
  EXPECT_EQ(link.set(0, 1), FileStatus::kBadName);
}

void add_rounds(FilePointers& pointers, std::vector<std::int64_t>& values) {
  for (int i = 0; i < kRounds; ++i) {
    std::int64_t before = -1;
    EXPECT_EQ(pointers.add(1, 1, before), FileStatus::kDone);
    values.push_back(before);
  }
}

TEST(FilePointers, ThreadsOfTwoOpeningsGetDistinctValues) {
  const test::TemporaryFolder folder;
  FilePointers first(folder.path("pointers"));
  FilePointers second(folder.path("pointers"));
  std::vector<std::vector<std::int64_t>> values(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] { add_rounds(i % 2 == 0 ? first : second, values[i]); });
  for (std::thread& each : threads) each.join();
  std::vector<std::int64_t> all;
  for (const auto& each : values) all.insert(all.end(), each.begin(), each.end());
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(i));
}

TEST(FilePointers, ProcessesLoseNothing) {
  const test::TemporaryFolder folder;
  std::vector<pid_t> children;
  for (int child = 0; child < 3; ++child) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      FilePointers pointers(folder.path("pointers"));
      std::int64_t before = -1;
      std::int64_t last = -1;
      bool good = true;
      for (int i = 0; i < kRounds; ++i) {
        good = good && pointers.add(0, 3, before) == FileStatus::kDone && before > last;
        last = before;
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  FilePointers pointers(folder.path("pointers"));
  std::int64_t sum = 0;
  EXPECT_EQ(pointers.add(0, 0, sum), FileStatus::kDone);
  EXPECT_EQ(sum, 3 * 3 * kRounds);
}

}  // namespace
}  // namespace impishim::wire
