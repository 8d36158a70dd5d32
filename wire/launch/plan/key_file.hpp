// SPDX-License-Identifier: Apache-2.0
/// The job's key or secret in a file, for launchers that do not pass on impirun's environment.
#pragma once

#include <filesystem>
#include <list>
#include <string>
#include <utility>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// A file that only its owner can read (mode 0600). It is created at the first call of path() and
/// removed by the destructor. If the user named a file in the variable `named_by`, that file is
/// used and not removed; null: there is no such variable.
class KeyFile {
 public:
  /// `folder` is the place of the file. Every node that reads the file must see that folder.
  KeyFile(std::string content, const char* named_by, std::filesystem::path folder)
      : content_(std::move(content)), named_by_(named_by), folder_(std::move(folder)) {}
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  ~KeyFile();

  /// Returns the absolute path of the file. Fails with kSystem if the file cannot be created.
  [[nodiscard]] Result<std::filesystem::path> path();

  /// Returns the best folder that nodes may share: the user's home, or else the folder for
  /// temporary files.
  [[nodiscard]] static std::filesystem::path shared_folder();

 private:
  std::string content_;
  const char* named_by_;
  std::filesystem::path folder_;
  std::filesystem::path path_;  ///< empty if not yet created
  bool own_ = false;
};

/// The files for a job's key, and for the secret in IMPISHIM_SECRET.
struct KeyFiles {
  KeyFiles(const std::string& key, const std::filesystem::path& folder);
  /// Writes another file of such content, and returns its path. Fails with kSystem.
  [[nodiscard]] Result<std::filesystem::path> add(std::string content);
  KeyFile key;
  KeyFile secret;
  std::filesystem::path folder;
  std::list<KeyFile> others;
};

}  // namespace impishim::launch
