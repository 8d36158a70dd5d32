// SPDX-License-Identifier: Apache-2.0
/// Finds out whether another system sees the same file under a name: a file with a random name and
/// content is made beside it, and looked for by the others.
///
/// Names and types of file systems do not tell: the same path can be a disk of each machine, and
/// the same file system can be mounted at two paths.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "wire/file/file_status.hpp"

namespace impishim::wire {

/// What the system that has the file tells the others.
struct FileProbeToken {
  std::array<std::byte, 16> random{};
  std::uint64_t inode = 0;  ///< of the file
  bool made = false;        ///< there is a file to look for
};

/// The file beside another. Removed when it is destroyed.
class FileProbe {
 public:
  /// Makes the file beside `path`, which exists. If that is not allowed, token().made is false.
  explicit FileProbe(const std::string& path);
  FileProbe(const FileProbe&) = delete;
  FileProbe& operator=(const FileProbe&) = delete;
  ~FileProbe();
  [[nodiscard]] const FileProbeToken& token() const { return token_; }

 private:
  FileProbeToken token_;
  std::string path_;
};

/// Returns true if `path` names the same file here as where the token was made.
[[nodiscard]] bool sees_same_file(const std::string& path, const FileProbeToken& token);

/// Returns a name beside `path`, hidden, that no other opening of a file has.
[[nodiscard]] std::string name_beside(const std::string& path, const FileProbeToken& token,
                                      const char* ending);

}  // namespace impishim::wire
