// SPDX-License-Identifier: Apache-2.0
/// Files of a test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/file/stored_file.hpp"

namespace impishim::wire::test {

/// A folder of its own, removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "file-XXXXXX").string()) {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string path(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }
  /// Makes a file with this content. Returns its path.
  [[nodiscard]] std::string file(std::string_view name, std::string_view content = "") const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  /// Returns the number of files here.
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(path_),
                         std::filesystem::directory_iterator());
  }

 private:
  std::string path_;
};

[[nodiscard]] inline std::string content_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

[[nodiscard]] inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

[[nodiscard]] inline StoredFile opened(const std::string& path,
                                       FileAccess access = FileAccess::kReadAndWrite) {
  FileStatus status = FileStatus::kOther;
  StoredFile file = StoredFile::open(path, access, status);
  EXPECT_EQ(status, FileStatus::kDone);
  return file;
}

}  // namespace impishim::wire::test
