// SPDX-License-Identifier: Apache-2.0
#include "wire/file/file_probe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "wire/base/descriptor.hpp"

namespace impishim::wire {
namespace {

/// Returns the file that `path` names, through symbolic links.
std::filesystem::path real_path(const std::string& path) {
  std::error_code failed;
  std::filesystem::path real = std::filesystem::canonical(path, failed);
  return failed ? std::filesystem::path(path) : real;
}

}  // namespace

std::string name_beside(const std::string& path, const FileProbeToken& token, const char* ending) {
  std::string name = ".impishim-";
  for (const std::byte each : token.random)
    name += fmt::format("{:02x}", static_cast<unsigned>(each));
  return (real_path(path).parent_path() / (name + ending)).string();
}

FileProbe::FileProbe(const std::string& path) {
  struct stat state {};
  if (::getrandom(token_.random.data(), token_.random.size(), 0) !=
          static_cast<ssize_t>(token_.random.size()) ||
      ::stat(path.c_str(), &state) != 0)
    return;
  token_.inode = state.st_ino;
  path_ = name_beside(path, token_, ".probe");
  const Descriptor file(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.valid()) return;
  const ssize_t put = ::write(file.get(), token_.random.data(), token_.random.size());
  token_.made = put == static_cast<ssize_t>(token_.random.size());
  if (!token_.made) ::unlink(path_.c_str());
}

FileProbe::~FileProbe() {
  if (token_.made) ::unlink(path_.c_str());
}

bool sees_same_file(const std::string& path, const FileProbeToken& token) {
  struct stat state {};
  if (!token.made || ::stat(path.c_str(), &state) != 0 || state.st_ino != token.inode) return false;
  const Descriptor file(
      ::open(name_beside(path, token, ".probe").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return false;
  std::array<std::byte, 16> content{};
  return ::read(file.get(), content.data(), content.size()) ==
             static_cast<ssize_t>(content.size()) &&
         content == token.random;
}

}  // namespace impishim::wire
