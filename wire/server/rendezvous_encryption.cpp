// SPDX-License-Identifier: Apache-2.0
// Connections of the rendezvous server that are encrypted.
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/server/rendezvous.hpp"
#include "wire/server/startup_server.hpp"
#include "wire/tls/shared_secret.hpp"
#include "wire/tls/tls_certificates.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire {

/// Reads the certificates, which serve all connections.
Result<void> Rendezvous::load_certificates() {
  if (!options_.methods.shared.certificates) return {};
  auto loaded = TlsCertificates::load(*options_.methods.shared.certificates);
  if (!loaded) return loaded.error();
  certificates_ = std::move(*loaded);
  return {};
}

Result<std::unique_ptr<TlsSession>> Rendezvous::encrypted_session() const {
  if (certificates_) return TlsSession::make(rendezvous_terms(certificates_));
  auto terms = rendezvous_terms(TlsRole::kServer, *options_.methods.shared.secret);
  if (!terms) return terms.error();
  return TlsSession::make(*terms);
}

/// Passes what has arrived encrypted on to the server.
void Rendezvous::decrypt(int id, Connection& connection, std::span<const std::byte> bytes) {
  TlsSession& session = *connection.session;
  std::array<std::byte, TlsSession::kRecordSize> plain;
  const iovec room{plain.data(), plain.size()};
  while (!bytes.empty() && connection.session && !connection.closing) {
    bytes = bytes.subspan(session.feed(bytes));
    auto went_on = session.done() ? Result<void>() : session.advance_handshake();
    if (!went_on) return refuse(id, connection, went_on.error());
    while (session.done()) {
      const auto size = session.read({&room, 1});
      if (!size && size.error().kind == ErrorKind::kConnection) return;  // the socket ends, too
      if (!size) return refuse(id, connection, size.error());
      if (*size == 0) break;
      server_.received(id, std::span(plain).first(*size));
    }
  }
  write_to(id, connection);
}

/// Ends a connection that does not know the secret, whose certificate is refused, or whose records
/// are damaged.
void Rendezvous::refuse(int id, Connection& connection, const Error& reason) {
  // One that has sent no TLS speaks plain IMPI, and is told so in plain bytes.
  const bool speaks_tls =
      connection.session->peer_spoke_tls() || !connection.session->output().empty();
  if (!speaks_tls) connection.session.reset();
  const char* const cure = certificates_
                               ? "this server encrypts with certificates: set "
                                 "IMPISHIM_CERTIFICATE, IMPISHIM_PRIVATE_KEY and IMPISHIM_AUTHORITY"
                               : "this server encrypts: set the same IMPISHIM_SECRET or "
                                 "IMPISHIM_SECRET_FILE as it has";
  server_.refused(id, speaks_tls ? reason.text : cure);
}

/// Returns the bytes for the socket. Encrypts what waits for that, as far as there is room.
std::span<const std::byte> Rendezvous::next_output(Connection& connection) {
  if (!connection.session) return connection.output;
  TlsSession& session = *connection.session;
  if (session.output().empty() && session.done() && !connection.output.empty()) {
    const iovec piece{connection.output.data(), connection.output.size()};
    const auto size = session.write({&piece, 1});
    connection.output.erase(
        connection.output.begin(),
        connection.output.begin() +
            static_cast<std::ptrdiff_t>(size ? *size : connection.output.size()));
  }
  if (connection.closing && !session.done()) connection.output.clear();
  if (connection.closing && connection.output.empty()) session.close();
  return session.output();
}

}  // namespace impishim::wire
