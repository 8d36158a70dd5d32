// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/tls_certificates.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pemerr.h>
#include <openssl/ssl.h>
#include <openssl/types.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/private_file.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/tls/certificate_files.hpp"
#include "wire/tls/tls_library.hpp"

namespace impishim::wire {
namespace {

constexpr std::size_t kMostKeyBytes = 65536;
constexpr std::size_t kMostCertificateBytes = std::size_t{1} << 20U;
/// Certificates in one file.
constexpr std::size_t kMostCertificates = 256;

Error refused(const char* variable, const std::string& path, const std::string& reason) {
  return {ErrorKind::kAuthentication, fmt::format("{}={} {}", variable, path, reason)};
}

std::string reason_of(const TlsLibrary& library) {
  const unsigned long code = library.error_peek_last();
  const char* const text = code == 0 ? nullptr : library.error_reason_text(code);
  return text == nullptr ? "unknown reason" : text;
}

/// Returns the contents of a file that need not be secret. Others must not be able to write it,
/// because it decides who is trusted.
Result<std::string> read_open_file(const char* variable, const std::string& path) {
  // O_NONBLOCK: without it, open() of a FIFO at this path would block forever.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file.valid() || fstat(file.get(), &status) != 0)
    return refused(variable, path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) return refused(variable, path, "is not a regular file");
  if ((status.st_mode & S_IWOTH) != 0)
    return refused(variable, path, "can be changed by every user: chmod o-w it, and check it");
  std::string text(kMostCertificateBytes + 1, '\0');
  std::size_t size = 0;
  for (ssize_t count = 1; count > 0 && size < text.size();
       size += static_cast<std::size_t>(count)) {
    count = read(file.get(), text.data() + size, text.size() - size);
    if (count < 0)
      return refused(variable, path, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  if (size > kMostCertificateBytes)
    return refused(variable, path, fmt::format("is longer than {} bytes", kMostCertificateBytes));
  text.resize(size);
  return text;
}

/// A BIO that reads a text.
class TextReader {
 public:
  TextReader(const TlsLibrary& library, const std::string& text)
      : library_(library), bio_(library.bio_new_text(text.data(), static_cast<int>(text.size()))) {}
  TextReader(const TextReader&) = delete;
  TextReader& operator=(const TextReader&) = delete;
  ~TextReader() { library_.bio_free(bio_); }
  [[nodiscard]] BIO* get() const { return bio_; }

 private:
  const TlsLibrary& library_;
  BIO* bio_;
};

/// OpenSSL asks for the passphrase of a key. Without this function it would ask at the terminal.
int refuse_passphrase(char* /*room*/, int /*size*/, int /*writing*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

/// Appends all certificates of a PEM text. The caller frees them, also after a failure.
Result<void> parse_certificates(const TlsLibrary& library, const char* variable,
                                const std::string& path, std::vector<X509*>& certificates) {
  auto text = read_open_file(variable, path);
  if (!text) return text.error();
  const TextReader reader(library, *text);
  bool asked = false;
  while (reader.get() != nullptr && certificates.size() < kMostCertificates) {
    X509* one = library.certificate_new(library.providers, nullptr);
    if (one == nullptr ||
        library.read_certificate(reader.get(), &one, refuse_passphrase, &asked) == nullptr) {
      library.certificate_free(one);  // null if it was damaged
      break;
    }
    certificates.push_back(one);
  }
  const unsigned long code = library.error_peek_last();
  const bool at_end =
      ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
  if (certificates.empty() && at_end)
    return refused(variable, path, "holds no certificate: PEM is needed (BEGIN CERTIFICATE)");
  if (certificates.size() == kMostCertificates)
    return refused(variable, path,
                   fmt::format("holds more than {} certificates", kMostCertificates));
  if (!at_end)
    return refused(variable, path,
                   fmt::format("holds a damaged certificate ({})", reason_of(library)));
  return {};
}

}  // namespace

TlsCertificates::~TlsCertificates() {
  for (X509* const each : chain_) library_.certificate_free(each);
  library_.key_free(key_);
  library_.context_free(context_);
}

Result<std::shared_ptr<const TlsCertificates>> TlsCertificates::load(
    const CertificateFiles& files) {
  auto library = TlsLibrary::load();
  if (!library) return library.error();
  const KeptErrors errors(**library);
  const std::shared_ptr<TlsCertificates> made(new TlsCertificates(**library));
  auto ready = made->open_context();
  if (ready) ready = made->read_chain(files.certificate);
  if (ready) ready = made->read_authority(files.authority);
  if (ready) ready = made->read_key(files.key);
  if (ready) ready = made->try_out(files);
  if (!ready) return ready.error();
  return std::shared_ptr<const TlsCertificates>(made);
}

Result<void> TlsCertificates::open_context() {
  context_ = library_.new_context();
  if (context_ == nullptr ||
      library_.context_control(context_, SSL_CTRL_SET_SIGALGS_LIST, 0,
                               const_cast<char*>(kSignatures)) != 1 ||  // NOLINT(*-const-cast)
      library_.context_control(context_, SSL_CTRL_SET_CLIENT_SIGALGS_LIST, 0,
                               const_cast<char*>(kSignatures)) != 1) {  // NOLINT(*-const-cast)
    return Error{ErrorKind::kSystem, "OpenSSL cannot be prepared for certificates"};
  }
  // What is sent is what the user's file holds, and no certificate of the authority.
  library_.context_control(context_, SSL_CTRL_MODE, SSL_MODE_NO_AUTO_CHAIN, nullptr);
  // RSA of 2048 bits at least, and no SHA-1.
  library_.context_set_security_level(context_, 2);
  library_.context_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return {};
}

Result<void> TlsCertificates::read_chain(const std::string& path) {
  return parse_certificates(library_, "IMPISHIM_CERTIFICATE", path, chain_);
}

Result<void> TlsCertificates::read_authority(const std::string& path) {
  constexpr const char* kVariable = "IMPISHIM_AUTHORITY";
  std::vector<X509*> trusted;
  auto parsed = parse_certificates(library_, kVariable, path, trusted);
  X509_STORE* const store = library_.context_store(context_);
  for (X509* const each : trusted) {
    if (parsed && library_.store_add(store, each) != 1)
      parsed = refused(kVariable, path, fmt::format("cannot be used ({})", reason_of(library_)));
    library_.certificate_free(each);
  }
  return parsed;
}

Result<void> TlsCertificates::read_key(const std::string& path) {
  constexpr const char* kVariable = "IMPISHIM_PRIVATE_KEY";
  auto text = read_private_file(kVariable, path, kMostKeyBytes);
  if (!text) return text.error();
  const bool locked = parse_key(*text);
  wipe(std::as_writable_bytes(std::span(*text)));
  if (key_ != nullptr) return {};
  return refused(kVariable, path,
                 locked ? "is protected by a passphrase, which no one can enter for a job: take it "
                          "off (openssl pkey), and close the file to others"
                        : "holds no private key: PEM is needed (BEGIN PRIVATE KEY)");
}

/// Sets the key, or returns true if it is protected by a passphrase. In two steps, because
/// OpenSSL's function for both leaves the bytes between them in memory.
bool TlsCertificates::parse_key(const std::string& text) {
  const TextReader reader(library_, text);
  unsigned char* bytes = nullptr;
  long size = 0;
  char* name = nullptr;
  bool locked = false;
  if (library_.read_pem(&bytes, &size, &name, PEM_STRING_EVP_PKEY, reader.get(), refuse_passphrase,
                        &locked) != 1) {
    return locked;
  }
  locked = std::strcmp(name, PEM_STRING_PKCS8) == 0;
  const unsigned char* position = bytes;
  if (!locked)
    key_ = library_.parse_private_key(nullptr, &position, size, library_.providers, nullptr);
  library_.clear_free(bytes, static_cast<std::size_t>(size), nullptr, 0);
  library_.free(name, nullptr, 0);
  return locked;
}

/// Checks that the key is that of the certificate, and that OpenSSL accepts both.
Result<void> TlsCertificates::try_out(const CertificateFiles& files) const {
  if (library_.certificate_has_key(chain_.front(), key_) != 1) {
    return refused("IMPISHIM_PRIVATE_KEY", files.key,
                   fmt::format("is not the key of the first certificate in IMPISHIM_CERTIFICATE={}",
                               files.certificate));
  }
  SSL* const connection = library_.connection_new(context_);
  const bool usable = connection != nullptr && give_to(connection);
  library_.connection_free(connection);
  if (usable) return {};
  return refused("IMPISHIM_CERTIFICATE", files.certificate,
                 fmt::format("cannot be used ({})", reason_of(library_)));
}

bool TlsCertificates::give_to(ssl_st* connection) const {
  if (library_.use_certificate(connection, chain_.front()) != 1 ||
      library_.use_private_key(connection, key_) != 1) {
    return false;
  }
  for (X509* const each : std::span(chain_).subspan(1)) {
    // The number 1 makes the session take a reference of its own.
    if (library_.connection_control(connection, SSL_CTRL_CHAIN_CERT, 1, each) != 1) return false;
  }
  return true;
}

bool expect_name(const TlsLibrary& library, ssl_st* connection, const std::string& name) {
  X509_VERIFY_PARAM* const check = library.verify_parameters(connection);
  in6_addr room{};
  const bool is_address =
      inet_pton(AF_INET, name.c_str(), &room) == 1 || inet_pton(AF_INET6, name.c_str(), &room) == 1;
  if (is_address) return library.verify_address(check, name.c_str()) == 1;
  library.verify_host_flags(
      check, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return library.verify_host(check, name.c_str(), name.size()) == 1;
}

}  // namespace impishim::wire
