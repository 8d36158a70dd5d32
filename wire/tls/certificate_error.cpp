// SPDX-License-Identifier: Apache-2.0
// What has gone wrong in a TLS session with certificates, in words for the user.
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <openssl/tls1.h>
#include <openssl/x509_vfy.h>

#include <optional>
#include <string>

#include "wire/base/result.hpp"
#include "wire/tls/tls_error.hpp"
#include "wire/tls/tls_library.hpp"

namespace impishim::wire {
namespace {

constexpr const char* kAllAlike =
    "server and systems need certificates in all, or one secret in all";

/// Returns what to do if the certificate of an end, "the peer" or "this end", fails verification.
std::string cure_of(long verify_result, bool of_server) {
  switch (verify_result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "renew it there, or set the clocks of both machines right";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "the server's address must be among the alternative names of its certificate, or "
             "IMPISHIM_SERVER_NAME must be one of them";
    case X509_V_ERR_INVALID_PURPOSE:
      return fmt::format("its extended key usage must allow {}",
                         of_server ? "serverAuth" : "clientAuth");
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK:
      return "use at least 2048 bits of RSA, or an elliptic curve, and SHA-256";
    default:
      return "it must come from an authority in the IMPISHIM_AUTHORITY of this end";
  }
}

/// Returns why the peer refuses this end's certificate, and what to do; nothing if the alert is not
/// about certificates.
std::optional<std::string> refusal_of(const TlsFailure& failure) {
  const char* const name = failure.is_server
                               ? "if a system looks for another name, set its IMPISHIM_SERVER_NAME"
                               : "see the server's message";
  switch (failure.alert) {
    case TLS1_AD_UNKNOWN_CA:
    case SSL_AD_DECRYPT_ERROR:
      return "it comes from no authority that the peer trusts: IMPISHIM_CERTIFICATE here must come "
             "from an authority in the IMPISHIM_AUTHORITY there";
    case SSL_AD_CERTIFICATE_EXPIRED:
      return "it has expired or is not yet valid: renew IMPISHIM_CERTIFICATE, or set the clocks of "
             "both machines right";
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
      return fmt::format("its extended key usage must allow {}",
                         failure.is_server ? "serverAuth" : "clientAuth");
    case SSL_AD_BAD_CERTIFICATE:
      return fmt::format("it is damaged, too weak, or not for this server: {}", name);
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case TLS1_AD_ACCESS_DENIED:
      return name;
    default:
      return std::nullopt;
  }
}

std::optional<Error> alert_error(const TlsLibrary& library, const TlsFailure& failure) {
  const char* const alert = library.alert_text(failure.alert);
  if (const auto refusal = refusal_of(failure)) {
    return Error{ErrorKind::kAuthentication,
                 fmt::format("the peer refuses the certificate of this end (TLS alert '{}'): {}",
                             alert, *refusal)};
  }
  if (failure.handshake_done || failure.alert == TLS1_AD_PROTOCOL_VERSION) return std::nullopt;
  return Error{ErrorKind::kAuthentication,
               fmt::format("the peer does not accept a connection with certificates (TLS alert "
                           "'{}'): {}",
                           alert, kAllAlike)};
}

}  // namespace

std::optional<Error> certificate_error(const TlsLibrary& library, const TlsFailure& failure) {
  if (failure.alert >= 0) return alert_error(library, failure);
  if (failure.handshake_done) return std::nullopt;
  if (failure.asked_for_key) {
    return Error{ErrorKind::kAuthentication,
                 fmt::format("the peer has a secret, and this end certificates: {}", kAllAlike)};
  }
  switch (ERR_GET_REASON(failure.code)) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return Error{ErrorKind::kAuthentication,
                   fmt::format("the certificate of the peer is refused ({}): {}",
                               library.verify_error_text(failure.verify_result),
                               cure_of(failure.verify_result, !failure.is_server))};
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return Error{
          ErrorKind::kAuthentication,
          "the peer has no certificate: set IMPISHIM_CERTIFICATE, IMPISHIM_PRIVATE_KEY and "
          "IMPISHIM_AUTHORITY there"};
    case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_MISSING_SIGALGS_EXTENSION:
      return Error{ErrorKind::kAuthentication,
                   fmt::format("the peer accepts no certificate of this kind ({}): {}",
                               library.error_reason_text(failure.code), kAllAlike)};
    default:
      return std::nullopt;
  }
}

}  // namespace impishim::wire
