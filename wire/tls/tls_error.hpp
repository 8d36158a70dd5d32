// SPDX-License-Identifier: Apache-2.0
/// What has gone wrong in a TLS session, in words for the user.
#pragma once

#include <optional>
#include <string>

#include "wire/base/result.hpp"

namespace impishim::wire {

struct TlsLibrary;

/// What a session knows when OpenSSL fails.
struct TlsFailure {
  unsigned long code = 0;         ///< OpenSSL's packed error code
  int alert = -1;                 ///< the peer's alert (RFC 8446 6), -1: none
  bool handshake_done = false;    ///< the handshake was complete
  bool is_server = false;         ///< this end is the server
  bool asked_for_key = false;     ///< server: the client has offered a key
  bool identity_differs = false;  ///< server: it was the key of another channel
  bool by_certificates = false;   ///< this end uses certificates
  long verify_result = 0;         ///< OpenSSL's judgement of the peer's certificate (X509_V_OK)
};

/// Returns the error. Its kind is kAuthentication if the peer has another key or none, or if a
/// certificate is refused; kProtocol if a record is damaged or not allowed. The text contains
/// nothing secret.
[[nodiscard]] Error tls_error(const TlsLibrary& library, const TlsFailure& failure);
/// Returns the error of a session with certificates if it is about who the ends are; otherwise
/// nothing. See tls_error().
[[nodiscard]] std::optional<Error> certificate_error(const TlsLibrary& library,
                                                     const TlsFailure& failure);
/// Returns the error for a peer whose first bytes are no TLS record.
[[nodiscard]] Error no_tls_error();
/// Returns the error for a stream that ended without close_notify (RFC 8446 6.1). `cause` is the
/// text of the socket's error.
[[nodiscard]] Error tls_cut_error(bool handshake_done, const std::string& cause);

}  // namespace impishim::wire
