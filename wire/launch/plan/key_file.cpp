// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/plan/key_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {
namespace {

std::string text_of(const char* variable) {
  const char* text = secure_getenv(variable);
  return text == nullptr ? "" : text;
}

}  // namespace

Result<std::filesystem::path> KeyFile::path() {
  if (!path_.empty()) return path_;
  std::error_code error;
  if (const char* named = named_by_ == nullptr ? nullptr : secure_getenv(named_by_);
      named != nullptr) {
    path_ = std::filesystem::absolute(named, error);
    return path_;
  }
  std::string name = folder_ / ".impirun-key-XXXXXX";
  const Descriptor file(mkostemp(name.data(), O_CLOEXEC));
  const int failure = file.valid() ? write_all(file.get(), content_) : errno;
  if (failure != 0) {
    Error failed{
        ErrorKind::kSystem,
        fmt::format("cannot write the key to a file in {}: {}{}", folder_.string(),
                    std::strerror(failure),
                    named_by_ == nullptr ? "" : fmt::format(" ({} names another)", named_by_))};
    if (file.valid()) unlink(name.c_str());
    return failed;
  }
  path_ = name;
  own_ = true;
  return path_;
}

KeyFile::~KeyFile() {
  if (own_) unlink(path_.c_str());
}

KeyFiles::KeyFiles(const std::string& key, const std::filesystem::path& folder)
    : key(key + "\n", "IMPI_AUTH_KEY_FILE", folder),
      secret(text_of("IMPISHIM_SECRET") + "\n", "IMPISHIM_SECRET_FILE", folder),
      folder(folder) {}

Result<std::filesystem::path> KeyFiles::add(std::string content) {
  others.emplace_back(std::move(content), nullptr, folder);
  return others.back().path();
}

std::filesystem::path KeyFile::shared_folder() {
  if (const char* home = secure_getenv("HOME"); home != nullptr && access(home, W_OK | X_OK) == 0)
    return home;
  std::error_code error;
  return std::filesystem::temp_directory_path(error);
}

}  // namespace impishim::launch
