// SPDX-License-Identifier: Apache-2.0
/// A folder for the files of the processes that impirun starts.
#pragma once

#include <filesystem>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// A new folder inside the folder for temporary files ($TMPDIR or /tmp). It is created at the first
/// call of path(). The destructor removes it with its content.
class ScratchFolder {
 public:
  ScratchFolder() = default;
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  /// Returns the path of the folder. Fails with kSystem if it cannot be created.
  [[nodiscard]] Result<std::filesystem::path> path();

 private:
  std::filesystem::path path_;  ///< empty if not yet created
};

}  // namespace impishim::launch
