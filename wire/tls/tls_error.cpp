// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/tls_error.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/tls1.h>

#include <optional>
#include <string>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/tls/tls_library.hpp"

namespace impishim::wire {
namespace {

constexpr const char* kSameJob = "both ends must belong to the same job and have the same key";

std::string reason_text(const TlsLibrary& library, unsigned long code) {
  const char* const text = code == 0 ? nullptr : library.error_reason_text(code);
  return text == nullptr ? "unknown reason" : text;
}

/// Handles an alert of the peer (RFC 8446 6.2).
Error alert_error(const TlsLibrary& library, const TlsFailure& failure, int alert) {
  const std::string name = library.alert_text(alert);
  if (failure.handshake_done) {
    return {ErrorKind::kProtocol,
            fmt::format("the peer has ended the encrypted connection by the alert '{}': a record "
                        "was damaged or forged on its way to the peer",
                        name)};
  }
  if (alert == TLS1_AD_PROTOCOL_VERSION) {
    return {ErrorKind::kProtocol, "the peer does not support TLS 1.3"};
  }
  return {
      ErrorKind::kAuthentication,
      fmt::format("the peer refuses the key of this channel (TLS alert '{}'): {}", name, kSameJob)};
}

}  // namespace

Error tls_error(const TlsLibrary& library, const TlsFailure& failure) {
  const int reason = ERR_GET_REASON(failure.code);
  if (failure.by_certificates) {
    if (auto error = certificate_error(library, failure)) return std::move(*error);
  }
  if (failure.alert >= 0) return alert_error(library, failure, failure.alert);
  if (failure.identity_differs) {
    return {ErrorKind::kAuthentication,
            fmt::format("the peer offers the key of another channel: {}", kSameJob)};
  }
  if (reason == SSL_R_BINDER_DOES_NOT_VERIFY) {
    return {ErrorKind::kAuthentication, fmt::format("the peer has another key: {}", kSameJob)};
  }
  if (reason == SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC) {
    return {ErrorKind::kProtocol,
            "a record of the encrypted connection was damaged or forged on the way"};
  }
  if (reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_WRONG_SSL_VERSION)
    return {ErrorKind::kProtocol, "the peer does not support TLS 1.3"};
  if (!failure.handshake_done && reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    return {ErrorKind::kAuthentication,
            fmt::format("the peer does not use the key of this channel, but a certificate: {}",
                        kSameJob)};
  }
  if (!failure.handshake_done && failure.is_server && !failure.asked_for_key &&
      (reason == SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM || reason == SSL_R_NO_SHARED_CIPHER ||
       reason == SSL_R_MISSING_SIGALGS_EXTENSION || reason == SSL_R_NO_CERTIFICATE_SET)) {
    return {
        ErrorKind::kAuthentication,
        fmt::format("the peer offers no key (one that uses certificates has none): {}", kSameJob)};
  }
  return {ErrorKind::kProtocol,
          fmt::format("{} TLS record of the peer is not allowed, was damaged or forged ({})",
                      failure.handshake_done ? "a" : "in the handshake a",
                      reason_text(library, failure.code))};
}

Error no_tls_error() {
  return {ErrorKind::kProtocol,
          "the peer speaks no TLS: both ends must use encryption, or neither (IMPISHIM_TLS)"};
}

Error tls_cut_error(bool handshake_done, const std::string& cause) {
  if (handshake_done) {
    return {ErrorKind::kConnection,
            fmt::format("cut, without the end that TLS announces: {}", cause)};
  }
  return {ErrorKind::kConnection,
          fmt::format("the peer has closed the connection during the TLS handshake ({}); its own "
                      "message tells why",
                      cause)};
}

}  // namespace impishim::wire
