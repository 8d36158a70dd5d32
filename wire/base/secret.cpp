// SPDX-License-Identifier: Apache-2.0
#include "wire/base/secret.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/opensslv.h>
#include <openssl/types.h>
#include <string.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include "wire/base/openssl_library.hpp"
#include "wire/base/result.hpp"

namespace impishim {
namespace {

/// The functions of libcrypto that the library calls. Linking libcrypto would cost every process
/// 0.7 ms and 0.4 MB.
struct CryptoLibrary {
  decltype(&EVP_Q_digest) digest = nullptr;
  decltype(&EVP_Q_mac) mac = nullptr;
  /// A separate library context. The program's settings of its OpenSSL (providers, openssl.cnf) do
  /// not affect it, and this library's settings do not affect the program.
  OSSL_LIB_CTX* context = nullptr;

  [[nodiscard]] static const Result<CryptoLibrary>& load();
};

Result<CryptoLibrary> open_library() {
  const std::string name = fmt::format("libcrypto.so.{}", OPENSSL_SHLIB_VERSION);
  const auto library = load_openssl(name);
  if (!library) return library.error();
  CryptoLibrary it;
  decltype(&OPENSSL_init_crypto) initialize = nullptr;
  decltype(&OSSL_LIB_CTX_new) new_context = nullptr;
  if (!find_function(*library, "EVP_Q_digest", it.digest) ||
      !find_function(*library, "EVP_Q_mac", it.mac) ||
      !find_function(*library, "OPENSSL_init_crypto", initialize) ||
      !find_function(*library, "OSSL_LIB_CTX_new", new_context)) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("{} lacks functions that it should have", name)};
  }
  // A thread of this library may still encrypt while exit() runs, so OpenSSL must not clean up.
  if (initialize(OPENSSL_INIT_NO_ATEXIT, nullptr) != 1)
    return Error{ErrorKind::kSystem, fmt::format("{} cannot be initialized", name)};
  it.context = new_context();
  if (it.context == nullptr)
    return Error{ErrorKind::kSystem, fmt::format("{} cannot be initialized: out of memory?", name)};
  return it;
}

const Result<CryptoLibrary>& CryptoLibrary::load() {
  static const Result<CryptoLibrary> library = open_library();
  return library;
}

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

JobSecret::JobSecret(std::span<const std::byte, kSize> bytes) : bytes_{} {
  std::copy(bytes.begin(), bytes.end(), bytes_.begin());
}

JobSecret::~JobSecret() { wipe(bytes_); }

Result<JobSecret> JobSecret::random() {
  JobSecret secret(std::array<std::byte, kSize>{});
  auto filled = fill_with_random(secret.bytes_);
  if (!filled) return filled.error();
  return secret;
}

Result<void> fill_with_random(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t size = getrandom(bytes.data(), bytes.size(), 0);
    if (size > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(size));
    } else if (size == 0 || errno != EINTR) {
      return Error{ErrorKind::kSystem,
                   fmt::format("the kernel gives no random bytes: {}", strerror(errno))};
    }
  }
  return {};
}

Result<Digest> sha256(std::span<const std::byte> message) {
  const auto& library = CryptoLibrary::load();
  if (!library) return library.error();
  Digest digest{};
  std::size_t size = 0;
  if ((*library).digest((*library).context, "SHA256", nullptr, message.data(), message.size(),
                        raw(digest.data()), &size) != 1 ||
      size != digest.size()) {
    return Error{ErrorKind::kSystem, "OpenSSL cannot compute SHA-256"};
  }
  return digest;
}

Result<Digest> hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message) {
  const auto& library = CryptoLibrary::load();
  if (!library) return library.error();
  Digest digest{};
  std::size_t size = 0;
  if ((*library).mac((*library).context, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(),
                     raw(message.data()), message.size(), raw(digest.data()), digest.size(),
                     &size) == nullptr ||
      size != digest.size()) {
    return Error{ErrorKind::kSystem, "OpenSSL cannot compute HMAC-SHA-256"};
  }
  return digest;
}

bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() != b.size()) return false;
  // Volatile: otherwise the compiler could stop at the first difference.
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference =
        static_cast<unsigned char>(difference | std::to_integer<unsigned char>(a[i] ^ b[i]));
  }
  return difference == 0;
}

void wipe(std::span<std::byte> bytes) { explicit_bzero(bytes.data(), bytes.size()); }

}  // namespace impishim
