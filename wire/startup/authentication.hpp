/// How a client proves to the rendezvous server that it belongs to the job (IMPI 2.3.3), and where
/// the key comes from.
#pragma once

#include <cstdint>
#include <string>

#include "wire/base/result.hpp"
#include "wire/startup/startup_message.hpp"

namespace impishim::wire {

/// Methods that this side enables, from the environment.
struct AuthenticationMethods {
  bool none = false;
  bool key = false;
  std::uint64_t key_value = 0;
  /// Reads IMPI_AUTH_NONE, IMPI_AUTH_KEY and, where IMPI_AUTH_KEY is not set, IMPI_AUTH_KEY_FILE.
  /// kAuthentication: no method is enabled, the key is no decimal 64-bit number, or the file is
  /// refused by read_key_file().
  [[nodiscard]] static Result<AuthenticationMethods> from_environment();
  [[nodiscard]] bool enables(std::int32_t method) const {
    return (method == kAuthNone && none) || (method == kAuthKey && key);
  }
};

/// Returns the key in the file `path`: a decimal 64-bit number, and white space after it.
/// kAuthentication: the file cannot be read, is a symbolic link, is no regular file, belongs to
/// another user, or gives its group or others any right.
[[nodiscard]] Result<std::uint64_t> read_key_file(const std::string& path);

}  // namespace impishim::wire
