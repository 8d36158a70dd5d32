// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/shared_secret.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "wire/base/bytes.hpp"
#include "wire/base/private_file.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/tls/channel_key.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire {
namespace {

constexpr std::size_t kMostBytes = 65536;
constexpr std::string_view kLabel = "impishim: secret of a user, 1\n";

/// Returns the secret for a text of any length.
Result<JobSecret> secret_of(std::string_view text) {
  ByteWriter all;
  all.put_bytes(std::as_bytes(std::span(kLabel)));
  all.put_bytes(std::as_bytes(std::span(text)));
  auto bytes = all.take();
  auto digest = sha256(bytes);
  wipe(bytes);
  if (!digest) return digest.error();
  JobSecret secret(*digest);
  wipe(*digest);
  return secret;
}

Error empty(const char* variable) {
  return {ErrorKind::kAuthentication,
          fmt::format("{}: the secret is empty; impirun -new-secret makes one", variable)};
}

/// Returns the secret that the environment names, or nothing.
Result<std::optional<JobSecret>> read_secret() {
  std::optional<JobSecret> none;
  if (const char* text = secure_getenv("IMPISHIM_SECRET"); text != nullptr) {
    if (*text == '\0') return empty("IMPISHIM_SECRET");
    auto secret = secret_of(text);
    return secret ? Result(std::optional(*secret)) : secret.error();
  }
  const char* path = secure_getenv("IMPISHIM_SECRET_FILE");
  if (path == nullptr) return none;
  auto text = read_private_file("IMPISHIM_SECRET_FILE", path, kMostBytes);
  if (!text) return text.error();
  if (text->empty()) return empty("IMPISHIM_SECRET_FILE");
  auto secret = secret_of(*text);
  wipe(std::as_writable_bytes(std::span(*text)));
  return secret ? Result(std::optional(*secret)) : secret.error();
}

}  // namespace

Result<SharedSecret> SharedSecret::from_environment() {
  const char* text = secure_getenv("IMPISHIM_TLS");
  const std::string_view wish = text == nullptr ? "auto" : text;
  if (wish == "off") return SharedSecret{.is_off = true};
  if (wish != "auto" && wish != "on") {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("IMPISHIM_TLS={}: use auto (default), on or off", wish)};
  }
  auto secret = read_secret();
  if (!secret) return secret.error();
  if (!*secret && wish == "on") {
    return Error{
        ErrorKind::kConfiguration,
        "IMPISHIM_TLS=on needs a secret: set IMPISHIM_SECRET, or IMPISHIM_SECRET_FILE to a "
        "file that holds it (impirun -new-secret makes one)"};
  }
  return SharedSecret{.secret = std::move(*secret)};
}

Result<TlsTerms> rendezvous_terms(TlsRole role, const JobSecret& secret) {
  TlsTerms terms;
  terms.role = role;
  terms.identity = "impishim rendezvous";
  auto key = channel_key(secret, terms.identity);
  if (!key) return key.error();
  terms.key = *key;
  wipe(*key);
  return terms;
}

}  // namespace impishim::wire
