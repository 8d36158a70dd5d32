// SPDX-License-Identifier: Apache-2.0
/// Certificates (X.509) for TLS sessions: this end's own, with its private key, and the authorities
/// that the peer's certificate must come from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/tls/certificate_files.hpp"

// OpenSSL's types, without its headers.
struct evp_pkey_st;
struct ssl_ctx_st;
struct ssl_st;
struct x509_st;

namespace impishim::wire {

struct TlsLibrary;

/// What the files contain, in OpenSSL's form. The private key is in memory as long as this object,
/// or a session that has begun and is not done. Thread-safe once it is loaded.
class TlsCertificates {
 public:
  /// Reads and checks the files. Fails with kAuthentication if the key's file is refused
  /// (read_private_file()), if a file cannot be read or holds nothing usable, or if the key is not
  /// that of the certificate; with kConfiguration or kSystem as TlsLibrary::load() does. Dates and
  /// authorities are left to the peer, so that both ends report them. The text names the file, and
  /// nothing of its contents.
  [[nodiscard]] static Result<std::shared_ptr<const TlsCertificates>> load(
      const CertificateFiles& files);
  TlsCertificates(const TlsCertificates&) = delete;
  TlsCertificates& operator=(const TlsCertificates&) = delete;
  ~TlsCertificates();

  /// Returns the context of sessions with certificates. It requires a certificate of both ends.
  [[nodiscard]] ssl_ctx_st* context() const { return context_; }
  /// Gives the certificate and the key to a session of this context. Returns false if OpenSSL
  /// fails.
  [[nodiscard]] bool give_to(ssl_st* connection) const;

 private:
  explicit TlsCertificates(const TlsLibrary& library) : library_(library) {}
  [[nodiscard]] Result<void> open_context();
  [[nodiscard]] Result<void> read_chain(const std::string& path);
  [[nodiscard]] Result<void> read_key(const std::string& path);
  [[nodiscard]] bool parse_key(const std::string& text);
  [[nodiscard]] Result<void> read_authority(const std::string& path);
  [[nodiscard]] Result<void> try_out(const CertificateFiles& files) const;

  const TlsLibrary& library_;
  ssl_ctx_st* context_ = nullptr;
  std::vector<x509_st*> chain_;  ///< own certificate first
  evp_pkey_st* key_ = nullptr;
};

/// Makes a client's session accept only a server whose certificate names `name`, a DNS name or an
/// address, among its alternative names. Returns false if OpenSSL fails.
[[nodiscard]] bool expect_name(const TlsLibrary& library, ssl_st* connection,
                               const std::string& name);

}  // namespace impishim::wire
