// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/authentication.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>

#include "wire/base/private_file.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/base/variable.hpp"
#include "wire/tls/shared_secret.hpp"

namespace impishim::wire {

Result<std::uint64_t> read_key_file(const std::string& path) {
  constexpr std::size_t kMostDigits = 64;
  auto text = read_private_file("IMPI_AUTH_KEY_FILE", path, kMostDigits);
  if (!text) return text.error();
  const auto key = parse_number<std::uint64_t>(text->c_str());
  wipe(std::as_writable_bytes(std::span(*text)));
  if (!key) {
    return Error{ErrorKind::kAuthentication,
                 fmt::format("IMPI_AUTH_KEY_FILE={} must hold one decimal 64-bit number (impirun "
                             "-new-key makes one)",
                             path)};
  }
  return *key;
}

Result<AuthenticationMethods> AuthenticationMethods::from_environment() {
  AuthenticationMethods methods;
  auto shared = SharedSecret::from_environment();
  if (!shared) return shared.error();
  methods.shared = std::move(*shared);
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
  // Both ends of an encrypted connection have proved that they belong to the job.
  if (!methods.key && methods.shared.encrypts()) methods.none = true;
  if (!methods.none && !methods.key) {
    return Error{
        ErrorKind::kAuthentication,
        "no authentication method available: set IMPI_AUTH_KEY to the same decimal number "
        "everywhere (impirun -new-key makes one), IMPI_AUTH_KEY_FILE to a file that holds "
        "it, IMPISHIM_SECRET_FILE to a file that holds a secret, which also encrypts "
        "(impirun -new-secret makes one), IMPISHIM_CERTIFICATE and its like, or IMPI_AUTH_NONE"};
  }
  return methods;
}

}  // namespace impishim::wire
