// SPDX-License-Identifier: Apache-2.0
/// What the user gives all systems of a job so that they encrypt: one secret, or certificates.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/tls/certificate_files.hpp"
#include "wire/tls/tls_certificates.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire {

/// The user's choice. With a secret or with certificates, all connections of the job that leave a
/// system are encrypted. There is never both.
struct SharedSecret {
  std::optional<JobSecret> secret{};
  bool is_off = false;  ///< true if IMPISHIM_TLS=off
  std::optional<CertificateFiles> certificates{};

  /// Returns true if connections are to be encrypted.
  [[nodiscard]] bool encrypts() const { return secret || certificates; }
  /// Reads IMPISHIM_SECRET or IMPISHIM_SECRET_FILE (any number of bytes, read_private_file()), the
  /// variables of CertificateFiles, and IMPISHIM_TLS. Tries the files of certificates out, and
  /// keeps nothing of them. Fails with kConfiguration if IMPISHIM_TLS is not auto, on or off, if it
  /// is on and there is neither secret nor certificates, or if there are both; with kAuthentication
  /// if the secret is empty or a file is refused.
  [[nodiscard]] static Result<SharedSecret> from_environment();
};

/// Returns the terms of a connection to the rendezvous server by the secret. Fails as hmac_sha256()
/// does.
[[nodiscard]] Result<TlsTerms> rendezvous_terms(TlsRole role, const JobSecret& secret);
/// Returns the terms of such a connection by certificates, for the server's end.
[[nodiscard]] TlsTerms rendezvous_terms(std::shared_ptr<const TlsCertificates> certificates);
/// Returns the terms of a client's connection to the server at `server` ("address:port"). Reads the
/// files of certificates. Fails as hmac_sha256(), TlsCertificates::load() and
/// expected_server_name() do. There must be a secret or certificates.
[[nodiscard]] Result<TlsTerms> terms_with_server(const SharedSecret& shared,
                                                 const std::string& server);

}  // namespace impishim::wire
