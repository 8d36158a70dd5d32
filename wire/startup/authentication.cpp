// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/authentication.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"

namespace impishim::wire {
namespace {

Error refused(const std::string& path, const std::string& reason) {
  return Error{ErrorKind::kAuthentication, fmt::format("IMPI_AUTH_KEY_FILE={} {}", path, reason)};
}

/// Checks the open descriptor and not the path, because the path may lead to another file between
/// check and use.
Result<void> check_key_file(const std::string& path, const Descriptor& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0)
    return refused(path, fmt::format("cannot be checked: {}", std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) return refused(path, "is not a regular file");
  if (status.st_uid != geteuid()) {
    return refused(path, fmt::format("belongs to user {}, not to user {} who reads it",
                                     status.st_uid, geteuid()));
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return refused(
        path,
        fmt::format("is open to other users (mode {:04o}): chmod 600 it, and choose a new key",
                    static_cast<unsigned>(status.st_mode) & 07777U));
  }
  return {};
}

}  // namespace

Result<std::uint64_t> read_key_file(const std::string& path) {
  // O_NONBLOCK: without it, open() of a FIFO at this path would block forever.
  const Descriptor file(
      open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.valid() && errno == ELOOP)
    return refused(path, "is a symbolic link: name the file that it points to");
  if (!file.valid())
    return refused(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  auto checked = check_key_file(path, file);
  if (!checked) return checked.error();
  std::array<char, 64> text{};
  const ssize_t size = read(file.get(), text.data(), text.size() - 1);
  if (size < 0) return refused(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  std::size_t end = static_cast<std::size_t>(size);
  while (end > 0 && std::strchr(" \t\r\n", text.at(end - 1)) != nullptr) --end;
  text.at(end) = '\0';
  const auto key = parse_number<std::uint64_t>(text.data());
  if (!key)
    return refused(path, "must hold one decimal 64-bit number (impirun -new-key makes one)");
  return *key;
}

Result<AuthenticationMethods> AuthenticationMethods::from_environment() {
  AuthenticationMethods methods;
  methods.none = secure_getenv("IMPI_AUTH_NONE") != nullptr;
  if (const char* text = secure_getenv("IMPI_AUTH_KEY"); text != nullptr) {
    const auto key = parse_number<std::uint64_t>(text);
    if (!key)
      return Error{ErrorKind::kAuthentication, "IMPI_AUTH_KEY must be a decimal 64-bit number"};
    methods.key = true;
    methods.key_value = *key;
  } else if (const char* path = secure_getenv("IMPI_AUTH_KEY_FILE"); path != nullptr) {
    auto key = read_key_file(path);
    if (!key) return key.error();
    methods.key = true;
    methods.key_value = *key;
  }
  if (!methods.none && !methods.key) {
    return Error{ErrorKind::kAuthentication,
                 "no authentication method available: set IMPI_AUTH_KEY to the same decimal number "
                 "everywhere (impirun -new-key "
                 "makes one), IMPI_AUTH_KEY_FILE to a file that holds it, or IMPI_AUTH_NONE"};
  }
  return methods;
}

}  // namespace impishim::wire
