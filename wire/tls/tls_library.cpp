// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/tls_library.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/opensslv.h>
#include <openssl/prov_ssl.h>
#include <openssl/ssl.h>
#include <openssl/ssl3.h>
#include <openssl/types.h>

#include <cstdint>
#include <string>

#include "wire/base/openssl_library.hpp"
#include "wire/base/result.hpp"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace impishim::wire {
namespace {

constexpr const char* kAesFirst = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kChaChaFirst = "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256";

bool processor_has_aes() {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0;
#elif defined(__aarch64__)
  return (getauxval(AT_HWCAP) & HWCAP_AES) != 0;
#else
  return false;
#endif
}

/// Sets everything that matters here. OpenSSL has applied the section system_default of the
/// machine's openssl.cnf to the context before.
bool set_up(const TlsLibrary& it, SSL_CTX* context) {
  const auto control = [&](int command, long number, const void* text = nullptr) {
    // The function's parameter is not const, but these commands only read.
    return it.context_control(context, command, number,
                              const_cast<void*>(text)) == 1;  // NOLINT(*-const-cast)
  };
  // All options of openssl.cnf go. Among the defaults that go with them is the compatibility mode
  // for middleboxes (RFC 8446 D.4), whose records carry nothing.
  it.context_clear_options(context, ~std::uint64_t{0});
  std::uint64_t options = SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET;
  // A client without AES instructions prefers ChaCha20, and a server without them insists on it.
  if (!it.has_aes) options |= SSL_OP_CIPHER_SERVER_PREFERENCE;
  it.context_set_options(context, options);
  // The commands whose result is not a success are the ones that return a set of flags or a size.
  it.context_control(context, SSL_CTRL_MODE, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_AUTO_RETRY,
                     nullptr);
  it.context_control(context, SSL_CTRL_CLEAR_MODE, SSL_MODE_RELEASE_BUFFERS, nullptr);
  it.context_control(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, nullptr);
  it.context_control(context, SSL_CTRL_SET_READ_AHEAD, 0, nullptr);
  it.context_set_security_level(context, 1);
  // The maximum first: openssl.cnf may have set one below the minimum.
  return control(SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_3_VERSION) &&
         control(SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION) &&
         control(SSL_CTRL_SET_GROUPS_LIST, 0, "X25519") &&
         control(SSL_CTRL_SET_MAX_SEND_FRAGMENT, SSL3_RT_MAX_PLAIN_LENGTH) &&
         control(SSL_CTRL_SET_SPLIT_SEND_FRAGMENT, SSL3_RT_MAX_PLAIN_LENGTH) &&
         it.context_set_ciphersuites(context, it.has_aes ? kAesFirst : kChaChaFirst) == 1 &&
         it.context_set_num_tickets(context, 0) == 1 &&
         it.context_set_block_padding(context, 0) == 1 &&
         it.context_set_max_early_data(context, 0) == 1;
}

Result<TlsLibrary> open_library() {
  const std::string name = fmt::format("libssl.so.{}", OPENSSL_SHLIB_VERSION);
  // libssl brings libcrypto with it. If the process has loaded libcrypto already, the linker uses
  // that one. All functions are looked up through libssl's handle, so that they belong together.
  const auto library = load_openssl(name);
  if (!library) return library.error();
  TlsLibrary it;
  const char* missing = nullptr;
#define IMPISHIM_TLS_FIND(member, symbol) \
  if (!find_function(*library, #symbol, it.member)) missing = #symbol;
  IMPISHIM_TLS_FUNCTIONS(IMPISHIM_TLS_FIND)
#undef IMPISHIM_TLS_FIND
  if (missing != nullptr) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("{} lacks {}: install OpenSSL 3.0 or later", name, missing)};
  }
  it.has_aes = processor_has_aes();
  // OpenSSL would destroy itself in a handler of exit(), while the progress thread still uses it.
  // This counts only if nothing has initialized libcrypto before; wire/base/secret.cpp does so.
  it.initialize(OPENSSL_INIT_NO_ATEXIT, nullptr);
  // The context has providers of its own, so that the program's are neither used nor changed.
  it.providers = it.library_context_new();
  it.context = it.new_context();
  if (it.context == nullptr) {
    return Error{ErrorKind::kSystem,
                 fmt::format("{} cannot be initialized for TLS 1.3: is TLS 1.3, AES-128-GCM, "
                             "ChaCha20 or X25519 disabled on this machine?",
                             name)};
  }
  return it;
}

}  // namespace

SSL_CTX* TlsLibrary::new_context() const {
  if (providers == nullptr) return nullptr;
  SSL_CTX* const made = context_new(providers, nullptr, method());
  if (made == nullptr || set_up(*this, made)) return made;
  context_free(made);
  return nullptr;
}

Result<const TlsLibrary*> TlsLibrary::load() {
  static const Result<TlsLibrary> library = open_library();
  if (!library) return library.error();
  return &*library;
}

}  // namespace impishim::wire
