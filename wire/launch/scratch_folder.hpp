/// A folder for the files of what impirun starts.
#pragma once

#include <filesystem>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// A folder of its own below the one for temporary files ($TMPDIR or /tmp), made when it is first
/// asked for. It goes with all that is in it when the object ends.
class ScratchFolder {
 public:
  ScratchFolder() = default;
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  /// kSystem: it cannot be made.
  [[nodiscard]] Result<std::filesystem::path> path();

 private:
  std::filesystem::path path_;  ///< empty: not made yet
};

}  // namespace impishim::launch
