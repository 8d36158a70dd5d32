// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/shared_secret.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "wire/base/bytes.hpp"
#include "wire/base/private_file.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/tls/certificate_files.hpp"
#include "wire/tls/channel_key.hpp"
#include "wire/tls/tls_certificates.hpp"
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
  auto certificates = CertificateFiles::from_environment();
  if (!certificates) return certificates.error();
  if (*secret && *certificates) {
    return Error{ErrorKind::kConfiguration,
                 "there are a secret (IMPISHIM_SECRET, IMPISHIM_SECRET_FILE) and certificates "
                 "(IMPISHIM_CERTIFICATE): unset one of them, the same one everywhere"};
  }
  if (!*secret && !*certificates && wish == "on") {
    return Error{ErrorKind::kConfiguration,
                 "IMPISHIM_TLS=on needs a secret or certificates: set IMPISHIM_SECRET, or "
                 "IMPISHIM_SECRET_FILE to a file that holds it (impirun -new-secret makes one), or "
                 "IMPISHIM_CERTIFICATE, IMPISHIM_PRIVATE_KEY and IMPISHIM_AUTHORITY"};
  }
  if (*certificates) {
    auto usable = TlsCertificates::load(**certificates);
    if (!usable) return usable.error();
  }
  return SharedSecret{.secret = std::move(*secret), .certificates = std::move(*certificates)};
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

TlsTerms rendezvous_terms(std::shared_ptr<const TlsCertificates> certificates) {
  TlsTerms terms;
  terms.role = TlsRole::kServer;
  terms.certificates = std::move(certificates);
  return terms;
}

Result<TlsTerms> terms_with_server(const SharedSecret& shared, const std::string& server) {
  if (shared.secret) return rendezvous_terms(TlsRole::kClient, *shared.secret);
  auto certificates = TlsCertificates::load(*shared.certificates);
  if (!certificates) return certificates.error();
  auto name = expected_server_name(*shared.certificates, server);
  if (!name) return name.error();
  TlsTerms terms;
  terms.role = TlsRole::kClient;
  terms.certificates = std::move(*certificates);
  terms.peer_name = std::move(*name);
  return terms;
}

}  // namespace impishim::wire
