/// The job's key in a file, for launchers that do not pass impirun's environment on.
#pragma once

#include <cstdint>
#include <filesystem>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// A file that only its owner can read (mode 0600), made when it is first asked for and removed
/// when the object ends. Where the user has named a file in IMPI_AUTH_KEY_FILE that one is used,
/// and stays.
class KeyFile {
 public:
  /// `folder`: where the file is made; every node that reads it must see that folder.
  KeyFile(std::uint64_t key, std::filesystem::path folder)
      : key_(key), folder_(std::move(folder)) {}
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  ~KeyFile();

  /// Returns its absolute path. kSystem: it cannot be made.
  [[nodiscard]] Result<std::filesystem::path> path();

  /// Returns the folder of choice where nodes share one: the user's home, or else the one for
  /// temporary files.
  [[nodiscard]] static std::filesystem::path shared_folder();

 private:
  std::uint64_t key_;
  std::filesystem::path folder_;
  std::filesystem::path path_;  ///< empty: not made yet
  bool own_ = false;
};

}  // namespace impishim::launch
