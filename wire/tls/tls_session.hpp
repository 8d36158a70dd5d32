// SPDX-License-Identifier: Apache-2.0
/// One end of an encrypted connection, without a socket: TLS 1.3 (RFC 8446) with a fresh X25519
/// exchange, computed by OpenSSL. The ends prove themselves by a key that both know beforehand
/// (psk_dhe_ke), or both by certificates. There are no tickets or early data, and no connection
/// without that proof.
///
/// Use: make() at both ends. Until done(): move output() to the peer, feed() what comes from the
/// peer, and call advance_handshake(). Then read(), write() and close().
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/linear_buffer.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/tls/channel_key.hpp"

// OpenSSL's types, without its headers.
struct bio_st;
struct evp_md_st;
struct ssl_session_st;
struct ssl_st;

namespace impishim::wire {

struct TlsLibrary;
class TlsCertificates;

enum class TlsRole : std::uint8_t { kClient, kServer };

/// What both ends of a channel have agreed on.
struct TlsTerms {
  /// Number of records after which an end changes its sending key. RFC 8446 5.5 allows 2^24.5 full
  /// records with AES-GCM.
  static constexpr std::uint64_t kRecordsPerKey = std::uint64_t{1} << 23U;

  TlsRole role = TlsRole::kClient;  ///< the ends must have different roles
  /// Names the channel, e.g. the job and both ends. Not secret: it is sent in clear. 1 to 128
  /// bytes.
  std::string identity;
  ChannelKey key{};  ///< see channel_key()
  std::uint64_t records_per_key = kRecordsPerKey;
  /// If it is not null, both ends prove themselves by certificates; identity and key are not used.
  std::shared_ptr<const TlsCertificates> certificates{};
  /// Client with certificates: the name or address that the server's certificate must have; empty:
  /// any.
  std::string peer_name{};

  ~TlsTerms() { wipe(key); }
};

/// The state of one end. Not thread-safe. All errors but the peer's orderly end are final: all
/// later calls return the same error, and output() may then hold an alert that should still be
/// sent.
class TlsSession {
 public:
  /// Largest number of bytes in a record (RFC 8446 5.1).
  static constexpr std::size_t kRecordSize = 16384;
  /// Room for a record with its frame, and a KeyUpdate or alert before it.
  static constexpr std::size_t kRecordRoom = kRecordSize + 256;
  /// Room for ciphertext in each direction.
  static constexpr std::size_t kBufferSize = 16 * kRecordRoom;
  static constexpr std::size_t kMostIdentity = 128;

  /// Returns a session that has not begun. Fails with kConfiguration if libssl is not installed or
  /// the identity is empty or too long, with kSystem if OpenSSL lacks memory.
  [[nodiscard]] static Result<std::unique_ptr<TlsSession>> make(const TlsTerms& terms);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  ~TlsSession();

  /// Reads what was fed, and writes the answer to output(). The client's first call writes its
  /// hello. Fails with kAuthentication if the peer has another key or identity, or none, or if one
  /// of the certificates is refused; with kProtocol if the peer speaks no TLS, or if a record was
  /// damaged. With certificates, a client may learn only by read() that the server refuses its own.
  [[nodiscard]] Result<void> advance_handshake();
  /// Returns true if the handshake is complete: the peer has proved that it knows the key, or has
  /// the private key of a certificate that is trusted.
  [[nodiscard]] bool done() const { return done_; }
  /// Returns true if the peer has sent a record of TLS, whether the handshake succeeds or not.
  [[nodiscard]] bool peer_spoke_tls() const { return first_record_seen_; }
  /// Returns the name of the cipher suite, once done.
  [[nodiscard]] std::string cipher() const;

  /// Returns memory for ciphertext from the peer; write there, and then call add_input(). It is
  /// empty if more than kBufferSize bytes wait for read().
  [[nodiscard]] std::span<std::byte> input_room();
  void add_input(std::size_t size) { input_.add(size); }
  /// Copies ciphertext from the peer, as much as there is room for, and returns its size.
  [[nodiscard]] std::size_t feed(std::span<const std::byte> ciphertext);
  /// Returns true if read() may return something without more input. False is certain.
  [[nodiscard]] bool has_input() const;
  /// Decrypts into `pieces` in order, behind their first `skip` bytes, and returns the number of
  /// bytes; 0 means that no complete record is there. Fails with kConnection ("end of stream")
  /// after the peer's close_notify, and with kProtocol if a record was damaged, forged, repeated or
  /// left out. Bytes before an error are returned first.
  [[nodiscard]] Result<std::size_t> read(std::span<const iovec> pieces, std::size_t skip = 0);
  /// Returns the error for the end of the socket's stream, whose text is `cause`: the orderly one
  /// if close_notify was read before, and otherwise a cut.
  [[nodiscard]] Error end_of_input(const std::string& cause) const;

  /// Encrypts bytes of `pieces` into output() while there is room for a whole record, and returns
  /// their number. Long pieces are encrypted from where they are. Short ones are gathered, so that
  /// all bytes of one call share as few records as possible.
  [[nodiscard]] Result<std::size_t> write(std::span<const iovec> pieces);
  /// Writes close_notify: no more output follows. Further calls do nothing.
  void close();
  /// Returns the ciphertext for the peer; call remove_output() with what was sent.
  [[nodiscard]] std::span<const std::byte> output() const { return output_.bytes(); }
  void remove_output(std::size_t size) { output_.remove(size); }

 private:
  struct FreeConnection {
    void operator()(ssl_st* connection) const;
  };
  /// OpenSSL's calls for bytes and keys.
  struct Callbacks;
  friend struct Callbacks;

  TlsSession(const TlsLibrary& library, const TlsTerms& terms);
  [[nodiscard]] Result<void> begin(const TlsTerms& terms);
  [[nodiscard]] Result<void> use_key();
  [[nodiscard]] Result<void> use_certificates(const TlsTerms& terms);
  [[nodiscard]] bool peer_is_proven() const;
  [[nodiscard]] ssl_session_st* make_key_session();
  [[nodiscard]] bool peer_speaks_tls() const;
  [[nodiscard]] bool has_record() const;
  [[nodiscard]] Result<std::size_t> read_some(std::span<std::byte> room);
  [[nodiscard]] Result<std::size_t> seal(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> seal_gathered();
  [[nodiscard]] bool has_record_room();
  Error fail(Error error);
  Error fail_by_openssl();

  const TlsLibrary& library_;
  std::unique_ptr<ssl_st, FreeConnection> connection_;
  bool is_server_;
  bool by_certificates_;
  std::string identity_;
  ChannelKey key_;  ///< wiped when the handshake is complete
  std::uint64_t records_per_key_;
  std::uint64_t records_of_key_ = 0;  ///< number of records that were sent with the present key
  LinearBuffer input_;
  std::size_t record_left_ = 0;  ///< bytes of the record that OpenSSL is reading
  LinearBuffer output_;
  std::vector<std::byte> gather_;  ///< a record that is put together
  std::size_t gathered_ = 0;
  bool first_record_seen_ = false;
  bool asked_for_key_ = false;
  bool identity_differs_ = false;
  bool done_ = false;
  bool closed_ = false;
  bool starved_ = false;      ///< OpenSSL wanted a record that was not there
  bool peer_closed_ = false;  ///< by close_notify
  int alert_ = -1;            ///< the peer's alert (RFC 8446 6), -1: none
  std::optional<Error> failure_;
};

}  // namespace impishim::wire
