// SPDX-License-Identifier: Apache-2.0
/// Authentication of a client to the rendezvous server (IMPI 2.3.3), and the sources of its key.
#pragma once

#include <cstdint>
#include <string>

#include "wire/base/result.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/tls/shared_secret.hpp"

namespace impishim::wire {

/// The methods that this side enables, from the environment.
struct AuthenticationMethods {
  bool none = false;
  bool key = false;
  std::uint64_t key_value = 0;
  SharedSecret shared{};  ///< if it encrypts, the connection is encrypted before a method is chosen
  /// Reads the shared secret or certificates, IMPI_AUTH_NONE and IMPI_AUTH_KEY, and
  /// IMPI_AUTH_KEY_FILE if IMPI_AUTH_KEY is not set. Fails with kAuthentication if no method is
  /// enabled, if the key is not a decimal 64-bit number, or if read_key_file() rejects the file.
  [[nodiscard]] static Result<AuthenticationMethods> from_environment();
  [[nodiscard]] bool enables(std::int32_t method) const {
    return (method == kAuthNone && none) || (method == kAuthKey && key);
  }
};

/// Returns the key in the file `path`. The file contains a decimal 64-bit number, which white space
/// may follow. Fails with kAuthentication if the file cannot be read, is a symbolic link, is not a
/// regular file, belongs to another user, or grants any right to its group or to others.
[[nodiscard]] Result<std::uint64_t> read_key_file(const std::string& path);

}  // namespace impishim::wire
