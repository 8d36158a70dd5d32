// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/tls_session.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/prov_ssl.h>
#include <openssl/ssl.h>
#include <openssl/ssl3.h>
#include <openssl/types.h>
#include <openssl/x509_vfy.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/tls/kernel_tls.hpp"
#include "wire/tls/tls_certificates.hpp"
#include "wire/tls/tls_error.hpp"
#include "wire/tls/tls_library.hpp"

namespace impishim::wire {
namespace {

constexpr int kSessionIndex = 0;  ///< OpenSSL's index for data of the application

/// A record begins with its type, two bytes of version and two of length (RFC 8446 5.1).
constexpr std::size_t kRecordHeader = 5;
/// Largest number of bytes behind that header (RFC 8446 5.2).
constexpr std::size_t kMostCiphertext = TlsSession::kRecordSize + 256;

Error end_of_stream() { return {ErrorKind::kConnection, "end of stream"}; }

const unsigned char* raw(const void* bytes) { return static_cast<const unsigned char*>(bytes); }

}  // namespace

/// OpenSSL calls these functions; they find their session in the BIO or in the connection.
struct TlsSession::Callbacks {
  static TlsSession& session_of(BIO* bio);
  static TlsSession& session_of(const SSL* connection);
  static int write(BIO* bio, const char* bytes, int size);
  static int read(BIO* bio, char* bytes, int size);
  static void note_alert(const SSL* connection, int event, int value);
  static long control(BIO* bio, int command, long number, void* pointer);
  static int offer_key(SSL* connection, const EVP_MD* hash, const unsigned char** identity,
                       std::size_t* identity_size, SSL_SESSION** session);
  static int find_key(SSL* connection, const unsigned char* identity, std::size_t identity_size,
                      SSL_SESSION** session);
  [[nodiscard]] static const BIO_METHOD* bio_method(const TlsLibrary& library);
};

namespace {

/// The library of the callbacks, which are called only after it was loaded.
const TlsLibrary& loaded_library() { return **TlsLibrary::load(); }

}  // namespace

TlsSession& TlsSession::Callbacks::session_of(BIO* bio) {
  static const TlsLibrary& library = loaded_library();
  return *static_cast<TlsSession*>(library.bio_get_data(bio));
}

TlsSession& TlsSession::Callbacks::session_of(const SSL* connection) {
  return *static_cast<TlsSession*>(loaded_library().get_ex_data(connection, kSessionIndex));
}

int TlsSession::Callbacks::write(BIO* bio, const char* bytes, int size) {
  TlsSession& session = session_of(bio);
  const std::size_t length = static_cast<std::size_t>(size);
  const auto room = session.output_.room();
  if (room.size() < length) {  // write() and the handshake leave room, so this does not happen
    session.library_.bio_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
    return -1;
  }
  std::memcpy(room.data(), bytes, length);
  session.output_.add(length);
  return size;
}

/// Gives OpenSSL complete records only. A call that reads from OpenSSL thus never stops inside a
/// record, and has_input() knows whether there is something to read.
int TlsSession::Callbacks::read(BIO* bio, char* bytes, int size) {
  TlsSession& session = session_of(bio);
  const auto input = session.input_.bytes();
  if (session.record_left_ == 0) {
    if (!session.has_record()) {
      session.starved_ = true;
      session.library_.bio_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
      return -1;
    }
    const std::size_t length =
        std::to_integer<std::size_t>(input[3]) << 8U | std::to_integer<std::size_t>(input[4]);
    session.record_left_ = std::min(kRecordHeader + length, input.size());
  }
  session.library_.bio_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  const std::size_t part = std::min(static_cast<std::size_t>(size), session.record_left_);
  std::memcpy(bytes, input.data(), part);
  session.input_.remove(part);
  session.record_left_ -= part;
  return static_cast<int>(part);
}

/// With SSL_OP_ENABLE_KTLS, OpenSSL offers each new key of the sending direction: `number` is not
/// 0, and `pointer` is the kernel's structure. It makes the records itself if this declines.
long TlsSession::Callbacks::control(BIO* bio, int command, long number, void* pointer) {
  constexpr int kOffersKey = 72;  // BIO_CTRL_SET_KTLS, which its headers name otherwise
  if (command == kOffersKey && number != 0)
    session_of(bio).sending_key_ = KernelTlsKey::copy(pointer);
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

/// The client offers its key in every hello.
int TlsSession::Callbacks::offer_key(SSL* connection, const EVP_MD* /*hash*/,
                                     const unsigned char** identity, std::size_t* identity_size,
                                     SSL_SESSION** session) {
  TlsSession& self = session_of(connection);
  *session = self.make_key_session();
  *identity = raw(self.identity_.data());
  *identity_size = self.identity_.size();
  return *session != nullptr ? 1 : 0;
}

/// The server accepts one identity, and none if it uses certificates. With any other one the
/// handshake ends here: without a key, OpenSSL would go on and ask for certificates.
int TlsSession::Callbacks::find_key(SSL* connection, const unsigned char* identity,
                                    std::size_t identity_size, SSL_SESSION** session) {
  TlsSession& self = session_of(connection);
  self.asked_for_key_ = true;
  if (self.by_certificates_) return 0;
  self.identity_differs_ =
      std::string_view(reinterpret_cast<const char*>(identity), identity_size) != self.identity_;
  *session = self.identity_differs_ ? nullptr : self.make_key_session();
  return *session != nullptr ? 1 : 0;
}

/// Keeps what the peer's alert says. Afterwards, OpenSSL's state no longer tells the orderly end
/// from other alerts.
void TlsSession::Callbacks::note_alert(const SSL* connection, int event, int value) {
  constexpr unsigned kDescription = 0xff;
  if (event == SSL_CB_READ_ALERT)
    session_of(connection).alert_ = static_cast<int>(static_cast<unsigned>(value) & kDescription);
}

const BIO_METHOD* TlsSession::Callbacks::bio_method(const TlsLibrary& library) {
  static const BIO_METHOD* const method = [&library]() -> const BIO_METHOD* {
    BIO_METHOD* const made =
        library.bio_method_new(library.bio_get_new_index() | BIO_TYPE_SOURCE_SINK, "impishim");
    if (made == nullptr) return nullptr;
    library.bio_method_set_write(made, write);
    library.bio_method_set_read(made, read);
    library.bio_method_set_control(made, control);
    return made;
  }();
  return method;
}

void TlsSession::FreeConnection::operator()(ssl_st* connection) const {
  loaded_library().connection_free(connection);
}

TlsSession::TlsSession(const TlsLibrary& library, const TlsTerms& terms)
    : library_(library),
      is_server_(terms.role == TlsRole::kServer),
      by_certificates_(terms.certificates != nullptr),
      identity_(terms.identity),
      key_(terms.key),
      records_per_key_(terms.records_per_key),
      input_(kBufferSize),
      output_(kBufferSize),
      gather_(kRecordSize) {}

TlsSession::~TlsSession() { wipe(key_); }

Result<std::unique_ptr<TlsSession>> TlsSession::make(const TlsTerms& terms) {
  auto library = TlsLibrary::load();
  if (!library) return library.error();
  const bool by_key = terms.certificates == nullptr;
  if (by_key && (terms.identity.empty() || terms.identity.size() > kMostIdentity)) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("the name of an encrypted channel has {} bytes; 1 to {} are allowed",
                             terms.identity.size(), kMostIdentity)};
  }
  std::unique_ptr<TlsSession> session(new TlsSession(**library, terms));
  auto begun = session->begin(terms);
  if (!begun) return begun.error();
  return session;
}

Result<void> TlsSession::begin(const TlsTerms& terms) {
  const KeptErrors errors(library_);
  connection_.reset(
      library_.connection_new(by_certificates_ ? terms.certificates->context() : library_.context));
  const BIO_METHOD* const method = Callbacks::bio_method(library_);
  BIO* const bio = method != nullptr ? library_.bio_new(method) : nullptr;
  if (connection_ == nullptr || bio == nullptr)
    return Error{ErrorKind::kSystem, "OpenSSL cannot make a TLS session: out of memory?"};
  library_.bio_set_data(bio, this);
  library_.bio_set_init(bio, 1);
  SSL* const connection = connection_.get();
  library_.set_bio(connection, bio, bio);  // the connection owns it now
  library_.set_ex_data(connection, kSessionIndex, this);
  library_.set_info_callback(connection, Callbacks::note_alert);
  if (terms.tells_sending_key) library_.set_options(connection, SSL_OP_ENABLE_KTLS);
  if (is_server_) {
    library_.set_psk_find_session_callback(connection, Callbacks::find_key);
    library_.set_accept_state(connection);
  } else {
    library_.set_connect_state(connection);
  }
  return by_certificates_ ? use_certificates(terms) : use_key();
}

Result<void> TlsSession::use_key() {
  if (is_server_) {
    library_.set_verify(connection_.get(), SSL_VERIFY_NONE, nullptr);
  } else {
    library_.set_psk_use_session_callback(connection_.get(), Callbacks::offer_key);
    // No certificate can be valid: a server that offers one instead of the key is refused.
    library_.set_verify(connection_.get(), SSL_VERIFY_PEER, nullptr);
  }
  return {};
}

Result<void> TlsSession::use_certificates(const TlsTerms& terms) {
  const bool named = is_server_ || terms.peer_name.empty() ||
                     expect_name(library_, connection_.get(), terms.peer_name);
  if (named && terms.certificates->give_to(connection_.get())) return {};
  return Error{ErrorKind::kSystem,
               fmt::format("OpenSSL cannot make a TLS session with certificates, for a peer \"{}\"",
                           terms.peer_name)};
}

/// Returns the key in the form in which OpenSSL wants it, or null. The caller, OpenSSL, owns it and
/// wipes it. Its hash is SHA-256, as that of both cipher suites.
ssl_session_st* TlsSession::make_key_session() {
  SSL_SESSION* const made = library_.session_new();
  if (made == nullptr) return nullptr;
  const SSL_CIPHER* const cipher =
      library_.cipher_find(connection_.get(), raw("\x13\x01"));  // TLS_AES_128_GCM_SHA256
  if (cipher != nullptr &&
      library_.session_set_master_key(made, raw(key_.data()), key_.size()) == 1 &&
      library_.session_set_cipher(made, cipher) == 1 &&
      library_.session_set_protocol_version(made, TLS1_3_VERSION) == 1) {
    return made;
  }
  library_.session_free(made);
  return nullptr;
}

Error TlsSession::fail(Error error) {
  failure_ = std::move(error);
  wipe(key_);
  return *failure_;
}

Error TlsSession::fail_by_openssl() {
  const TlsFailure failure{library_.error_peek_last(),
                           alert_,
                           done_,
                           is_server_,
                           asked_for_key_,
                           identity_differs_,
                           by_certificates_,
                           library_.verify_result(connection_.get())};
  if (done_) library_.error_clear();
  return fail(tls_error(library_, failure));
}

/// Judges the first bytes: a handshake or an alert, and a version that begins with 3. OpenSSL would
/// wait for a whole record first.
bool TlsSession::peer_speaks_tls() const {
  const auto first = input_.bytes();
  const bool type = first.empty() || first[0] == std::byte{SSL3_RT_HANDSHAKE} ||
                    first[0] == std::byte{SSL3_RT_ALERT};
  return type && (first.size() < 2 || first[1] == std::byte{SSL3_VERSION_MAJOR});
}

Result<void> TlsSession::advance_handshake() {
  if (failure_) return *failure_;
  if (done_) return {};
  if (!first_record_seen_) {
    if (!peer_speaks_tls()) return fail(no_tls_error());
    first_record_seen_ = has_record();
  }
  const KeptErrors errors(library_);
  starved_ = false;
  const int status = library_.do_handshake(connection_.get());
  if (status != 1 && starved_) return {};
  if (status != 1) return fail_by_openssl();
  // No other form is possible with the context's settings. A mistake there must not pass unseen.
  if (library_.version(connection_.get()) != TLS1_3_VERSION || !peer_is_proven())
    return fail({ErrorKind::kAuthentication, "the TLS handshake did not prove who the peer is"});
  done_ = true;
  if (by_certificates_) library_.forget_certificates(connection_.get());
  wipe(key_);
  return {};
}

/// Returns true if the peer has the key, or a certificate that was verified.
bool TlsSession::peer_is_proven() const {
  if (!by_certificates_) return library_.session_reused(connection_.get()) == 1;
  return library_.session_reused(connection_.get()) == 0 &&
         library_.peer_certificate(connection_.get()) != nullptr &&
         library_.verify_result(connection_.get()) == X509_V_OK;
}

std::string TlsSession::cipher() const {
  const SSL_CIPHER* const current = library_.get_current_cipher(connection_.get());
  return current == nullptr ? "none" : library_.cipher_get_name(current);
}

std::span<std::byte> TlsSession::input_room() {
  input_.make_room(kRecordRoom);
  return input_.room();
}

std::size_t TlsSession::feed(std::span<const std::byte> ciphertext) {
  const auto room = input_room();
  const std::size_t size = std::min(room.size(), ciphertext.size());
  if (size > 0) std::memcpy(room.data(), ciphertext.data(), size);
  input_.add(size);
  return size;
}

/// Returns true if the input begins with a complete record, or with a header that OpenSSL refuses.
bool TlsSession::has_record() const {
  const auto input = input_.bytes();
  if (input.size() < kRecordHeader) return false;
  const std::size_t length =
      std::to_integer<std::size_t>(input[3]) << 8U | std::to_integer<std::size_t>(input[4]);
  return length > kMostCiphertext || input.size() - kRecordHeader >= length;
}

bool TlsSession::has_input() const {
  return failure_ || peer_closed_ || has_record() || library_.pending(connection_.get()) > 0;
}

Result<std::size_t> TlsSession::read_some(std::span<std::byte> room) {
  if (failure_) return *failure_;
  if (peer_closed_) return end_of_stream();
  if (!has_input()) return std::size_t{0};
  std::size_t size = 0;
  starved_ = false;
  if (library_.read(connection_.get(), room.data(), room.size(), &size) == 1) return size;
  if (starved_) return std::size_t{0};
  if (alert_ == SSL3_AD_CLOSE_NOTIFY) {
    peer_closed_ = true;
    return end_of_stream();
  }
  return fail_by_openssl();
}

Result<std::size_t> TlsSession::read(std::span<const iovec> pieces, std::size_t skip) {
  std::size_t total = 0;
  for (const iovec& piece : pieces) {
    const std::size_t skipped = std::min(skip, piece.iov_len);
    skip -= skipped;
    std::span room(static_cast<std::byte*>(piece.iov_base) + skipped, piece.iov_len - skipped);
    while (!room.empty()) {
      auto got = read_some(room);
      if (!got && total == 0) return got;
      if (!got || *got == 0) return total;
      total += *got;
      room = room.subspan(*got);
    }
  }
  return total;
}

Error TlsSession::end_of_input(const std::string& cause) const {
  if (failure_) return *failure_;
  if (peer_closed_) return end_of_stream();
  return tls_cut_error(done_, cause);
}

bool TlsSession::has_record_room() {
  output_.make_room(kRecordRoom);
  return output_.room().size() >= kRecordRoom;
}

/// Encrypts one record. There must be room for it.
Result<std::size_t> TlsSession::seal(std::span<const std::byte> bytes) {
  if (records_of_key_ >= records_per_key_) {
    records_of_key_ = 0;
    // OpenSSL sends it before the next record. The peer is not asked to change its own key.
    if (library_.key_update(connection_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
      return fail_by_openssl();
  }
  ++records_of_key_;
  std::size_t size = 0;
  if (library_.write(connection_.get(), bytes.data(), bytes.size(), &size) != 1)
    return fail_by_openssl();
  return size;
}

Result<void> TlsSession::seal_gathered() {
  auto sealed = seal(std::span(gather_).first(gathered_));
  gathered_ = 0;
  if (!sealed) return sealed.error();
  return {};
}

Result<std::size_t> TlsSession::write(std::span<const iovec> pieces) {
  if (failure_) return *failure_;
  std::size_t total = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::span bytes(static_cast<const std::byte*>(pieces[i].iov_base), pieces[i].iov_len);
    const bool last = i + 1 == pieces.size();
    while (!bytes.empty()) {
      if (gathered_ == 0 && !has_record_room()) return total;
      std::size_t part = std::min(bytes.size(), kRecordSize - gathered_);
      if (gathered_ == 0 && (part == kRecordSize || last)) {
        auto sealed = seal(bytes.first(part));
        if (!sealed) return sealed;
        part = *sealed;
      } else {
        std::memcpy(gather_.data() + gathered_, bytes.data(), part);
        gathered_ += part;
        if (gathered_ == kRecordSize) {
          auto sealed = seal_gathered();
          if (!sealed) return sealed.error();
        }
      }
      total += part;
      bytes = bytes.subspan(part);
    }
  }
  if (gathered_ > 0) {
    auto sealed = seal_gathered();
    if (!sealed) return sealed.error();
  }
  return total;
}

std::optional<KernelTlsKey> TlsSession::take_sending_key() {
  const bool unused = done_ && !failure_ && !closed_ && records_of_key_ == 0;
  auto key = unused ? sending_key_ : std::nullopt;
  sending_key_.reset();
  return key;
}

void TlsSession::close() {
  if (closed_ || failure_ || !done_) return;
  closed_ = true;
  const KeptErrors errors(library_);
  library_.shutdown(connection_.get());
}

}  // namespace impishim::wire
