// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/job_key.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/random.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/launch/forms.hpp"
#include "wire/launch/supervisor.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/tls/shared_secret.hpp"

namespace impishim::launch {

void export_methods(const wire::AuthenticationMethods& methods) {
  if (methods.key) setenv("IMPI_AUTH_KEY", std::to_string(methods.key_value).c_str(), 1);
  if (!methods.none) unsetenv("IMPI_AUTH_NONE");
}

Result<std::uint64_t> random_key() {
  std::uint64_t key = 0;
  if (getrandom(&key, sizeof(key), 0) == sizeof(key)) return key;
  return Error{ErrorKind::kSystem, "no random numbers for an authentication key"};
}

int print_new_key() {
  auto key = random_key();
  return key ? print(fmt::format("{}\n", *key)) : complain(key.error(), kFailureStatus);
}

Result<std::string> random_secret() {
  std::array<std::byte, 32> secret{};
  auto filled = fill_with_random(secret);
  if (!filled) return filled.error();
  std::string text;
  for (const std::byte each : secret) text += fmt::format("{:02x}", std::to_integer<int>(each));
  return text;
}

int print_new_secret() {
  auto secret = random_secret();
  return secret ? print(*secret + "\n") : complain(secret.error(), kFailureStatus);
}

Result<wire::AuthenticationMethods> private_key() {
  auto key = random_key();
  if (!key) return key.error();
  auto shared = wire::SharedSecret::from_environment();
  if (!shared) return shared.error();
  wire::AuthenticationMethods methods;
  methods.shared = std::move(*shared);
  methods.key = true;
  methods.key_value = *key;
  unsetenv("IMPI_AUTH_KEY_FILE");
  export_methods(methods);
  return methods;
}

}  // namespace impishim::launch
