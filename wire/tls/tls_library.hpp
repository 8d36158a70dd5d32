// SPDX-License-Identifier: Apache-2.0
/// OpenSSL's libssl and libcrypto, loaded when the first encrypted channel is made. Include this
/// header in sources of wire/tls only: it needs OpenSSL's headers.
#pragma once

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/types.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "wire/base/result.hpp"

/// The functions that are used: the member of TlsLibrary, and OpenSSL's name.
#define IMPISHIM_TLS_FUNCTIONS(APPLY)                                     \
  APPLY(library_context_new, OSSL_LIB_CTX_new)                            \
  APPLY(initialize, OPENSSL_init_ssl)                                     \
  APPLY(method, TLS_method)                                               \
  APPLY(context_new, SSL_CTX_new_ex)                                      \
  APPLY(context_control, SSL_CTX_ctrl)                                    \
  APPLY(context_clear_options, SSL_CTX_clear_options)                     \
  APPLY(context_set_options, SSL_CTX_set_options)                         \
  APPLY(context_set_ciphersuites, SSL_CTX_set_ciphersuites)               \
  APPLY(context_set_num_tickets, SSL_CTX_set_num_tickets)                 \
  APPLY(context_set_block_padding, SSL_CTX_set_block_padding)             \
  APPLY(context_set_max_early_data, SSL_CTX_set_max_early_data)           \
  APPLY(context_set_security_level, SSL_CTX_set_security_level)           \
  APPLY(set_verify, SSL_set_verify)                                       \
  APPLY(connection_new, SSL_new)                                          \
  APPLY(connection_free, SSL_free)                                        \
  APPLY(set_accept_state, SSL_set_accept_state)                           \
  APPLY(set_connect_state, SSL_set_connect_state)                         \
  APPLY(set_bio, SSL_set_bio)                                             \
  APPLY(set_ex_data, SSL_set_ex_data)                                     \
  APPLY(set_info_callback, SSL_set_info_callback)                         \
  APPLY(set_options, SSL_set_options)                                     \
  APPLY(get_ex_data, SSL_get_ex_data)                                     \
  APPLY(set_psk_use_session_callback, SSL_set_psk_use_session_callback)   \
  APPLY(set_psk_find_session_callback, SSL_set_psk_find_session_callback) \
  APPLY(do_handshake, SSL_do_handshake)                                   \
  APPLY(read, SSL_read_ex)                                                \
  APPLY(write, SSL_write_ex)                                              \
  APPLY(shutdown, SSL_shutdown)                                           \
  APPLY(pending, SSL_pending)                                             \
  APPLY(version, SSL_version)                                             \
  APPLY(session_reused, SSL_session_reused)                               \
  APPLY(key_update, SSL_key_update)                                       \
  APPLY(get_current_cipher, SSL_get_current_cipher)                       \
  APPLY(cipher_find, SSL_CIPHER_find)                                     \
  APPLY(cipher_get_name, SSL_CIPHER_get_name)                             \
  APPLY(session_new, SSL_SESSION_new)                                     \
  APPLY(session_free, SSL_SESSION_free)                                   \
  APPLY(session_set_master_key, SSL_SESSION_set1_master_key)              \
  APPLY(session_set_cipher, SSL_SESSION_set_cipher)                       \
  APPLY(session_set_protocol_version, SSL_SESSION_set_protocol_version)   \
  APPLY(alert_text, SSL_alert_desc_string_long)                           \
  APPLY(bio_get_new_index, BIO_get_new_index)                             \
  APPLY(bio_method_new, BIO_meth_new)                                     \
  APPLY(bio_method_set_write, BIO_meth_set_write)                         \
  APPLY(bio_method_set_read, BIO_meth_set_read)                           \
  APPLY(bio_method_set_control, BIO_meth_set_ctrl)                        \
  APPLY(bio_new, BIO_new)                                                 \
  APPLY(bio_set_data, BIO_set_data)                                       \
  APPLY(bio_get_data, BIO_get_data)                                       \
  APPLY(bio_set_init, BIO_set_init)                                       \
  APPLY(bio_set_flags, BIO_set_flags)                                     \
  APPLY(bio_clear_flags, BIO_clear_flags)                                 \
  APPLY(context_free, SSL_CTX_free)                                       \
  APPLY(context_set_verify, SSL_CTX_set_verify)                           \
  APPLY(context_store, SSL_CTX_get_cert_store)                            \
  APPLY(connection_control, SSL_ctrl)                                     \
  APPLY(use_certificate, SSL_use_certificate)                             \
  APPLY(use_private_key, SSL_use_PrivateKey)                              \
  APPLY(forget_certificates, SSL_certs_clear)                             \
  APPLY(peer_certificate, SSL_get0_peer_certificate)                      \
  APPLY(verify_result, SSL_get_verify_result)                             \
  APPLY(verify_parameters, SSL_get0_param)                                \
  APPLY(verify_host, X509_VERIFY_PARAM_set1_host)                         \
  APPLY(verify_host_flags, X509_VERIFY_PARAM_set_hostflags)               \
  APPLY(verify_address, X509_VERIFY_PARAM_set1_ip_asc)                    \
  APPLY(verify_error_text, X509_verify_cert_error_string)                 \
  APPLY(store_add, X509_STORE_add_cert)                                   \
  APPLY(certificate_new, X509_new_ex)                                     \
  APPLY(certificate_free, X509_free)                                      \
  APPLY(certificate_has_key, X509_check_private_key)                      \
  APPLY(read_certificate, PEM_read_bio_X509)                              \
  APPLY(read_pem, PEM_bytes_read_bio)                                     \
  APPLY(parse_private_key, d2i_AutoPrivateKey_ex)                         \
  APPLY(clear_free, CRYPTO_clear_free)                                    \
  APPLY(free, CRYPTO_free)                                                \
  APPLY(key_free, EVP_PKEY_free)                                          \
  APPLY(bio_new_text, BIO_new_mem_buf)                                    \
  APPLY(bio_free, BIO_free)                                               \
  APPLY(error_clear, ERR_clear_error)                                     \
  APPLY(error_set_mark, ERR_set_mark)                                     \
  APPLY(error_pop_to_mark, ERR_pop_to_mark)                               \
  APPLY(error_peek_last, ERR_peek_last_error)                             \
  APPLY(error_reason_text, ERR_reason_error_string)

namespace impishim::wire {

/// Signatures of certificates and of handshakes with them. RSA+SHA256 and the next two are for
/// certificates alone: TLS 1.3 does not allow them in a handshake.
inline constexpr const char* kSignatures =
    "ed25519:ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:RSA-PSS+SHA256:RSA-PSS+SHA384:RSA-PSS+SHA512:"
    "RSA+SHA256:RSA+SHA384:RSA+SHA512";

/// OpenSSL's functions, and a context for all sessions of the process that know a key. It allows
/// TLS 1.3 with a key that both ends know, and nothing else. The program's openssl.cnf does not
/// change it.
struct TlsLibrary {
#define IMPISHIM_TLS_MEMBER(member, symbol) \
  decltype(&(symbol)) member = nullptr;  // NOLINT(bugprone-macro-parentheses)
  IMPISHIM_TLS_FUNCTIONS(IMPISHIM_TLS_MEMBER)
#undef IMPISHIM_TLS_MEMBER

  OSSL_LIB_CTX* providers = nullptr;  ///< of this library alone, not the program's
  SSL_CTX* context = nullptr;
  /// True if the processor has instructions for AES.
  bool has_aes = false;

  /// Returns the library. The first call loads it, which takes some milliseconds. Thread-safe.
  /// Fails with kConfiguration if libssl is not installed or is too old, and with kSystem if it
  /// cannot be initialized.
  [[nodiscard]] static Result<const TlsLibrary*> load();
  /// Returns another context with the same settings, which the caller frees, or null.
  [[nodiscard]] SSL_CTX* new_context() const;
};

/// OpenSSL's error queue belongs to the thread, and so also to the program if it uses OpenSSL. This
/// leaves in the queue what was there before. It takes 45 ns, so what is called for each record
/// does without: a failure there ends the job, and then clears the queue.
class KeptErrors {
 public:
  explicit KeptErrors(const TlsLibrary& library) : library_(library) { library_.error_set_mark(); }
  KeptErrors(const KeptErrors&) = delete;
  KeptErrors& operator=(const KeptErrors&) = delete;
  ~KeptErrors() { library_.error_pop_to_mark(); }

 private:
  const TlsLibrary& library_;
};

}  // namespace impishim::wire
