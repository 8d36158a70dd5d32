// SPDX-License-Identifier: Apache-2.0
#include "wire/base/private_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim {
namespace {

/// Checks the open descriptor and not the path, because the path may lead to another file between
/// check and use. Returns the reason why it is refused, or an empty text.
std::string reason_against(const Descriptor& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0)
    return fmt::format("cannot be checked: {}", std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return "is not a regular file";
  if (status.st_uid != geteuid()) {
    return fmt::format("belongs to user {}, not to user {} who reads it", status.st_uid, geteuid());
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fmt::format("is open to other users (mode {:04o}): chmod 600 it, and choose a new key",
                       static_cast<unsigned>(status.st_mode) & 07777U);
  }
  return {};
}

}  // namespace

Result<std::string> read_private_file(const std::string& variable, const std::string& path,
                                      std::size_t most) {
  const auto refused = [&](const std::string& reason) {
    return Error{ErrorKind::kAuthentication, fmt::format("{}={} {}", variable, path, reason)};
  };
  // O_NONBLOCK: without it, open() of a FIFO at this path would block forever.
  const Descriptor file(
      open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid() && errno == ELOOP)
    return refused("is a symbolic link: name the file that it points to");
  if (!file.valid()) return refused(fmt::format("cannot be opened: {}", std::strerror(errno)));
  const std::string reason = reason_against(file);
  if (!reason.empty()) return refused(reason);
  std::string text(most + 1, '\0');
  std::size_t size = 0;
  for (ssize_t count = 1; count > 0 && size < text.size();
       size += static_cast<std::size_t>(count)) {
    count = read(file.get(), text.data() + size, text.size() - size);
    if (count < 0) return refused(fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  if (size > most) return refused(fmt::format("is longer than {} bytes", most));
  while (size > 0 && std::strchr(" \t\r\n", text[size - 1]) != nullptr) --size;
  text.resize(size);
  return text;
}

}  // namespace impishim
