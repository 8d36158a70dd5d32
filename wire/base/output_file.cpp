// SPDX-License-Identifier: Apache-2.0
#include "wire/base/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim {
namespace {

Error failed(const char* reason) { return Error{ErrorKind::kSystem, reason}; }

}  // namespace

Result<Descriptor> open_output_file(const std::string& path, mode_t mode) {
  // O_NONBLOCK: open() would block forever if the file were a FIFO. No O_TRUNC: it would truncate
  // before the checks below.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  Descriptor file(open(path.c_str(), kFlags, mode));
  if (!file.valid()) return failed(errno == ELOOP ? "it is a symbolic link" : std::strerror(errno));
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return failed(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return failed("it is not a regular file");
  if (status.st_uid != geteuid() || status.st_nlink != 1)
    return failed("it belongs to another user, or has other names");
  const mode_t rights = status.st_mode & ACCESSPERMS;
  if ((rights & ~mode) != 0 && fchmod(file.get(), rights & mode) != 0)
    return failed(std::strerror(errno));
  if (ftruncate(file.get(), 0) != 0) return failed(std::strerror(errno));
  return file;
}

Result<void> write_to(const Descriptor& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_file(const std::string& path, std::string_view text) {
  auto file = open_output_file(path, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
  return file ? write_to(*file, text) : file.error();
}

}  // namespace impishim
