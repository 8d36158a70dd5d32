/// A folder for the files of what impirun starts.
#pragma once

#include <filesystem>
#include <utility>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// A folder of its own below the one for temporary files ($TMPDIR or /tmp), which goes with all that is in it when the object
/// ends.
class ScratchFolder {
 public:
  /// kSystem.
  [[nodiscard]] static Result<ScratchFolder> make();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;  ///< empty: moved from
};

}  // namespace impishim::launch
