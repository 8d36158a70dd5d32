// SPDX-License-Identifier: Apache-2.0
/// TLS records that Linux makes itself, from what is written to a socket (kTLS; in the kernel's
/// documentation "Kernel TLS"). Only the sending direction: OpenSSL 3.0 does not tell the key of
/// the other one.
///
/// Use: TlsSession with TlsTerms::tells_sending_key tells the key. Give it to seal_in_kernel(), and
/// from then on write plain bytes to the socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// The key of one direction, in the form in which the kernel takes it: one of the structures
/// tls12_crypto_info_* of linux/tls.h. Wipes it in the end.
class KernelTlsKey {
 public:
  /// Copies the structure at `info`. Returns nullopt if it is not for TLS 1.3 with one of the
  /// ciphers of TlsSession.
  [[nodiscard]] static std::optional<KernelTlsKey> copy(const void* info);
  KernelTlsKey(const KernelTlsKey&) = default;
  KernelTlsKey& operator=(const KernelTlsKey&) = default;
  ~KernelTlsKey();

  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  KernelTlsKey() = default;

  static constexpr std::size_t kMostBytes = 64;
  std::array<std::byte, kMostBytes> bytes_{};
  std::size_t size_ = 0;
};

/// Makes the kernel seal what is written to `socket`, a connected TCP socket, from now on. Fails
/// with kSystem if the kernel cannot, because it has no TLS or not this cipher: the socket is as
/// before then.
[[nodiscard]] Result<void> seal_in_kernel(int socket, const KernelTlsKey& key);

/// Sends the record close_notify on a socket that the kernel seals. Returns false if the socket is
/// full. Fails with kConnection if the peer is gone.
[[nodiscard]] Result<bool> send_close_notify(int socket);

/// Counts what one key has encrypted, in blocks of 16 bytes. The kernel cannot change a key (Linux
/// before 6.14), so a connection ends when its key has encrypted as much as it may: RFC 8446 5.5
/// allows 2^24.5 records of 2^10 blocks.
class KernelTlsUse {
 public:
  explicit KernelTlsUse(std::uint64_t most_records) : blocks_left_(most_records * kRecordBlocks) {}

  /// Counts one call that wrote `size` bytes.
  void count(std::size_t size);
  [[nodiscard]] bool over() const { return blocks_left_ == 0; }

 private:
  static constexpr std::uint64_t kRecordBlocks = 1026;  ///< of a full record, with its frame
  std::uint64_t blocks_left_;
};

}  // namespace impishim::wire
