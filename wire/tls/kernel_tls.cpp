// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/kernel_tls.hpp"

#include <fmt/format.h>
#include <linux/tls.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire {
namespace {

// Not in the C library's headers of Debian 12.
constexpr int kSocketLevelTls = 282;  ///< SOL_TLS
constexpr unsigned char kAlertRecord = 21;
constexpr std::array<unsigned char, 2> kCloseNotify{1, 0};  ///< a warning; RFC 8446 6.1

std::size_t size_of_key(std::uint16_t cipher) {
  switch (cipher) {
    case TLS_CIPHER_AES_GCM_128:
      return sizeof(tls12_crypto_info_aes_gcm_128);
    case TLS_CIPHER_CHACHA20_POLY1305:
      return sizeof(tls12_crypto_info_chacha20_poly1305);
    default:
      return 0;
  }
}

}  // namespace

std::optional<KernelTlsKey> KernelTlsKey::copy(const void* info) {
  tls_crypto_info head{};
  std::memcpy(&head, info, sizeof(head));
  const std::size_t size = size_of_key(head.cipher_type);
  if (head.version != TLS_1_3_VERSION || size == 0) return std::nullopt;
  KernelTlsKey key;
  std::memcpy(key.bytes_.data(), info, size);
  key.size_ = size;
  return key;
}

KernelTlsKey::~KernelTlsKey() { wipe(bytes_); }

Result<void> seal_in_kernel(int socket, const KernelTlsKey& key) {
  constexpr std::string_view kName = "tls";
  const auto bytes = key.bytes();
  if (setsockopt(socket, SOL_TCP, TCP_ULP, kName.data(), kName.size()) == 0 &&
      setsockopt(socket, kSocketLevelTls, TLS_TX, bytes.data(),
                 static_cast<unsigned>(bytes.size())) == 0) {
    return {};
  }
  return Error{ErrorKind::kSystem,
               fmt::format("this kernel makes no TLS records ({})", std::strerror(errno))};
}

Result<bool> send_close_notify(int socket) {
  std::array<unsigned char, 2> alert = kCloseNotify;
  iovec piece{alert.data(), alert.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(kAlertRecord))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const type = CMSG_FIRSTHDR(&message);
  type->cmsg_level = kSocketLevelTls;
  type->cmsg_type = TLS_SET_RECORD_TYPE;
  type->cmsg_len = CMSG_LEN(sizeof(kAlertRecord));
  *CMSG_DATA(type) = kAlertRecord;
  if (sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return true;
  if (would_block(errno)) return false;
  return Error{ErrorKind::kConnection, std::strerror(errno)};
}

void KernelTlsUse::count(std::size_t size) {
  constexpr std::size_t kBlock = 16;
  constexpr std::uint64_t kFrameBlocks = 2;  // the type of the record, and the block of its tag
  const std::uint64_t records = (size + TlsSession::kRecordSize - 1) / TlsSession::kRecordSize;
  const std::uint64_t blocks = (size + kBlock - 1) / kBlock + kFrameBlocks * records;
  blocks_left_ -= std::min(blocks, blocks_left_);
}

}  // namespace impishim::wire
