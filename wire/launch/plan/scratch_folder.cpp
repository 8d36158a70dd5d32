// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/plan/scratch_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "wire/base/log.hpp"
#include "wire/base/result.hpp"

namespace impishim::launch {

Result<std::filesystem::path> ScratchFolder::path() {
  if (!path_.empty()) return path_;
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  if (error)
    return Error{
        ErrorKind::kSystem,
        fmt::format("no folder for temporary files: {} (TMPDIR names one)", error.message())};
  std::string name = parent / "impirun-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot make a folder in {}: {} (TMPDIR names another)",
                             parent.string(), std::strerror(errno))};
  }
  path_ = name;
  return path_;
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error)
    log(LogArea::kStartup, LogLevel::kWarn, "cannot remove {}: {}", path_.string(),
        error.message());
}

}  // namespace impishim::launch
