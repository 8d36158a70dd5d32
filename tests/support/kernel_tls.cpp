// SPDX-License-Identifier: Apache-2.0
#include "tests/support/kernel_tls.hpp"

#include <dlfcn.h>
#include <linux/tls.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace impishim::test {
namespace {

constexpr int kSocketLevelTls = 282;
constexpr unsigned char kApplicationData = 23;
constexpr std::size_t kMostPlain = 16384;
constexpr std::size_t kNonce = 12;
constexpr std::size_t kTag = 16;
constexpr std::size_t kHeader = 5;

using Bytes = std::vector<unsigned char>;

/// The C library's function of this name.
template <typename Function>
Function* next(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "kernel_tls: %s\n", dlerror());
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

/// One socket that the kernel seals.
struct Sealer {
  const EVP_CIPHER* cipher = nullptr;
  Bytes key;
  std::array<unsigned char, kNonce> nonce{};
  std::uint64_t sequence = 0;

  /// Returns the record of `plain`.
  Bytes seal(std::span<const unsigned char> plain, unsigned char type) {
    const std::size_t carried = plain.size() + 1 + kTag;
    Bytes record{kApplicationData, 3, 3, static_cast<unsigned char>(carried >> 8U),
                 static_cast<unsigned char>(carried & 0xffU)};
    Bytes inner(plain.begin(), plain.end());
    inner.push_back(type);
    record.resize(kHeader + carried);
    auto here = nonce;
    for (std::size_t i = 0; i < 8; ++i)
      here[kNonce - 1 - i] ^= static_cast<unsigned char>(sequence >> (8 * i));
    ++sequence;
    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(
        EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    int size = 0;
    const bool sealed =
        EVP_EncryptInit_ex(context.get(), cipher, nullptr, key.data(), here.data()) == 1 &&
        EVP_EncryptUpdate(context.get(), nullptr, &size, record.data(), kHeader) == 1 &&
        EVP_EncryptUpdate(context.get(), record.data() + kHeader, &size, inner.data(),
                          static_cast<int>(inner.size())) == 1 &&
        EVP_EncryptFinal_ex(context.get(), nullptr, &size) == 1 &&
        EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTag,
                            record.data() + record.size() - kTag) == 1;
    if (!sealed) std::abort();
    ++emulated_kernel_tls().records;
    return record;
  }
};

/// The sockets with TCP_ULP. The lock is held while a record leaves, as by the kernel.
struct Sockets {
  std::mutex lock;
  std::map<int, Sealer> sealers;
  std::atomic<std::size_t> count = 0;  ///< so that other calls need no lock
};

Sockets& sockets() {
  // Never destroyed: other threads may still send while the process ends.
  static Sockets& all = *std::make_unique<Sockets>().release();
  return all;
}

template <typename Info>
Sealer sealer_of(const Info& info, const EVP_CIPHER* cipher) {
  Sealer made;
  made.cipher = cipher;
  made.key.assign(std::begin(info.key), std::end(info.key));
  const auto salt_size = sizeof(info.salt);
  std::memcpy(made.nonce.data(), info.salt, salt_size);
  std::memcpy(made.nonce.data() + salt_size, info.iv, kNonce - salt_size);
  for (const unsigned char byte : info.rec_seq) made.sequence = made.sequence << 8U | byte;
  return made;
}

int fail(int error) {
  errno = error;
  return -1;
}

int take_key(int socket, const void* value, socklen_t size) {
  Sockets& all = sockets();
  const std::lock_guard guard(all.lock);
  const auto found = all.sealers.find(socket);
  if (found == all.sealers.end()) return fail(ENOPROTOOPT);
  if (found->second.cipher != nullptr) return fail(EBUSY);  // as Linux before 6.14
  tls12_crypto_info_aes_gcm_128 aes{};
  tls12_crypto_info_chacha20_poly1305 chacha{};
  tls_crypto_info head{};
  if (size < sizeof(head)) return fail(EINVAL);
  std::memcpy(&head, value, sizeof(head));
  if (head.version != TLS_1_3_VERSION || !emulated_kernel_tls().takes_keys) return fail(EINVAL);
  if (head.cipher_type == TLS_CIPHER_AES_GCM_128 && size == sizeof(aes)) {
    std::memcpy(&aes, value, size);
    found->second = sealer_of(aes, EVP_aes_128_gcm());
  } else if (head.cipher_type == TLS_CIPHER_CHACHA20_POLY1305 && size == sizeof(chacha)) {
    std::memcpy(&chacha, value, size);
    found->second = sealer_of(chacha, EVP_chacha20_poly1305());
  } else {
    return fail(EINVAL);
  }
  return 0;
}

ssize_t raw_send(int socket, const void* bytes, std::size_t size) {
  static auto* const call = next<long(long, ...)>("syscall");
  return call(SYS_sendto, socket, bytes, size, MSG_NOSIGNAL, nullptr, 0);
}

bool has_room(int socket) {
  pollfd room{socket, POLLOUT, 0};
  return poll(&room, 1, 0) == 1;
}

/// Sends one record of the first bytes, if the socket has room for it.
ssize_t send_record(Sealer& sealer, int socket, std::span<const iovec> pieces, unsigned char type) {
  if (!has_room(socket)) return fail(EAGAIN);
  Bytes plain;
  for (const iovec& piece : pieces) {
    const auto* const begin = static_cast<const unsigned char*>(piece.iov_base);
    const std::size_t part = std::min(piece.iov_len, kMostPlain - plain.size());
    plain.insert(plain.end(), begin, begin + part);
  }
  if (plain.empty()) return 0;
  const Bytes record = sealer.seal(plain, type);
  for (std::size_t sent = 0; sent < record.size();) {
    const ssize_t part = raw_send(socket, record.data() + sent, record.size() - sent);
    if (part < 0 && errno == EAGAIN) {
      pollfd room{socket, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (part < 0) {
      return -1;
    } else {
      sent += static_cast<std::size_t>(part);
    }
  }
  return static_cast<ssize_t>(plain.size());
}

/// Sends through a sealed socket. Returns false if it is none.
bool sends(int socket, std::span<const iovec> pieces, unsigned char type, ssize_t& result) {
  Sockets& all = sockets();
  if (all.count == 0) return false;
  const std::lock_guard guard(all.lock);
  const auto found = all.sealers.find(socket);
  if (found == all.sealers.end() || found->second.cipher == nullptr) return false;
  result = send_record(found->second, socket, pieces, type);
  return true;
}

unsigned char type_of(const msghdr& message) {
  for (const cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
       each = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(each))) {
    if (each->cmsg_level == kSocketLevelTls && each->cmsg_type == TLS_SET_RECORD_TYPE)
      return *CMSG_DATA(each);
  }
  return kApplicationData;
}

bool sends_message(int socket, const msghdr& message, ssize_t& result) {
  return sends(socket, std::span(message.msg_iov, message.msg_iovlen), type_of(message), result);
}

struct Report {
  ~Report() {
    const std::uint64_t records = emulated_kernel_tls().records;
    if (records > 0)
      std::fprintf(stderr, "kernel_tls: %llu records\n", static_cast<unsigned long long>(records));
  }
};
const Report report;

}  // namespace

EmulatedKernelTls& emulated_kernel_tls() {
  static EmulatedKernelTls the_one;
  return the_one;
}

}  // namespace impishim::test

using namespace impishim::test;

extern "C" {

int setsockopt(int socket, int level, int name, const void* value, socklen_t size) noexcept {
  static auto* const call = next<int(int, int, int, const void*, socklen_t)>("setsockopt");
  if (level == SOL_TCP && name == TCP_ULP &&
      std::string_view(static_cast<const char*>(value), size) == "tls") {
    if (!emulated_kernel_tls().has_tls) return fail(ENOENT);
    Sockets& all = sockets();
    const std::lock_guard guard(all.lock);
    all.sealers.try_emplace(socket);
    all.count = all.sealers.size();
    return 0;
  }
  if (level == kSocketLevelTls && name == TLS_TX) return take_key(socket, value, size);
  return call(socket, level, name, value, size);
}

ssize_t send(int socket, const void* bytes, std::size_t size, int flags) {
  static auto* const call = next<ssize_t(int, const void*, std::size_t, int)>("send");
  const iovec piece{const_cast<void*>(bytes), size};
  ssize_t result = 0;
  return sends(socket, std::span(&piece, 1), kApplicationData, result)
             ? result
             : call(socket, bytes, size, flags);
}

ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  static auto* const call = next<ssize_t(int, const msghdr*, int)>("sendmsg");
  ssize_t result = 0;
  return sends_message(socket, *message, result) ? result : call(socket, message, flags);
}

long syscall(long number, ...) noexcept {
  static auto* const call = next<long(long, ...)>("syscall");
  std::array<long, 6> of{};
  std::va_list list;
  va_start(list, number);
  for (long& each : of) each = va_arg(list, long);  // NOLINT(clang-analyzer-valist.Uninitialized)
  va_end(list);
  ssize_t result = 0;
  const int socket = static_cast<int>(of[0]);
  // NOLINTBEGIN(performance-no-int-to-ptr): the kernel takes pointers as numbers
  if (number == SYS_sendto) {
    const iovec piece{reinterpret_cast<void*>(of[1]), static_cast<std::size_t>(of[2])};
    if (sends(socket, std::span(&piece, 1), kApplicationData, result)) return result;
  } else if (number == SYS_sendmsg) {
    if (sends_message(socket, *reinterpret_cast<const msghdr*>(of[1]), result)) return result;
  }
  // NOLINTEND(performance-no-int-to-ptr)
  return call(number, of[0], of[1], of[2], of[3], of[4], of[5]);
}

int close(int descriptor) {
  static auto* const call = next<int(int)>("close");
  Sockets& all = sockets();
  if (all.count > 0) {
    const std::lock_guard guard(all.lock);
    all.sealers.erase(descriptor);
    all.count = all.sealers.size();
  }
  return call(descriptor);
}
}
